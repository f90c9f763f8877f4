from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from edge.packs import LoadedPack, Packs
from edge.service import Service
from edge.settings import CacheSettings, EdgeSettings, PolicySettings, SynthesisSettings
from tests.unit.edge.tiny import TinyVoice, pack

MakeBox = Callable[..., Awaitable[Service]]


@pytest.fixture
async def make_box(tmp_path: Path) -> AsyncIterator[MakeBox]:
    """Makes boxes with tiny voices; all of them are stopped at the end."""
    boxes: list[Service] = []

    async def make(
        *voices: TinyVoice | LoadedPack,
        starter: TinyVoice | LoadedPack | None = None,
        policy: PolicySettings | None = None,
        cache: CacheSettings | None = None,
        synthesis: SynthesisSettings | None = None,
        data: Path = tmp_path / "box",
        lexicon: Path | None = None,
        **options: object,
    ) -> Service:
        active = [pack(v) if isinstance(v, TinyVoice) else v for v in voices]
        last = (
            pack(starter, "starter@1.0.0")
            if isinstance(starter, TinyVoice)
            else starter
        )
        settings = EdgeSettings(
            data=data,
            lexicon=lexicon,
            policy=(policy or PolicySettings()).model_copy(
                # A busy machine must not change who speaks.
                update={"deadline_ms": 600_000}
            ),
            cache=cache or CacheSettings(min_free_bytes=0),
            synthesis=synthesis or SynthesisSettings(),
        )
        box = Service(settings, packs=Packs(active, last), **options)  # type: ignore[arg-type]
        boxes.append(box)
        await box.start()
        await box.loaded()
        if box.cache is not None:
            await asyncio.to_thread(box.cache.store.wait_settled, 20)
        return box

    yield make
    for box in boxes:
        await box.stop()
