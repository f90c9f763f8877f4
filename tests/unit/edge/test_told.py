"""What the cloud is told of the shop's own readings, and of what was spoken."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from common.phrase import phrase_key
from common.protocol.synthesis import SpeechRequest
from common.speech import Speech
from common.text import read
from edge.settings import PolicySettings
from edge.sync.events import Spoken
from tests.unit.edge.conftest import MakeBox
from tests.unit.edge.test_policy import Cloud, say


async def test_the_cloud_is_told_what_the_shops_lexicon_decided(
    make_box: MakeBox, tmp_path: Path
) -> None:
    own = tmp_path / "own.tsv"
    own.write_text("说服\tshui4 fu2\n", "utf-8")
    cloud = Cloud()
    box = await make_box(cloud=cloud, policy=PolicySettings(mode="cloud"), lexicon=own)
    speech, _ = await say(box, "说服你")
    assert speech.tier == "cloud"
    assert cloud.asked[0].input == "{说服|shui4 fu2}你"
    await say(box, "你好")
    assert cloud.asked[1].input == "你好"


class Line:
    """Hears what the cloud is told, as the line to it does."""

    def __init__(self) -> None:
        self.told: list[tuple[Spoken | None, str]] = []

    def count(self, spoken: Spoken | None, tier: str) -> None:
        self.told.append((spoken, tier))

    async def stop(self) -> None: ...


class Secretive(Cloud):
    """A cloud whose symbols stay with it, as over the network."""

    async def speak(
        self, request: SpeechRequest, utterance: str, deadline_s: float
    ) -> Speech:
        speech = await super().speak(request, utterance, deadline_s)
        reading = dataclasses.replace(speech.receipt.reading, symbols=(), units=())
        speech.receipt = dataclasses.replace(speech.receipt, reading=reading)
        return speech


async def test_what_the_cloud_spoke_is_counted_under_the_key_that_the_shop_plays(
    make_box: MakeBox, tmp_path: Path
) -> None:
    own = tmp_path / "own.tsv"
    own.write_text("说服\tshui4 fu2\n", "utf-8")
    box = await make_box(
        cloud=Secretive(), policy=PolicySettings(mode="cloud"), lexicon=own
    )
    line = Line()
    box.line = line  # type: ignore[assignment]
    for text, values in (("你好", {}), ("说服你", {}), ("10.9", {"context": "price"})):
        assert (await say(box, text, **values))[0].tier == "cloud"
    (plain, _), (ours, _), (hinted, tier) = line.told
    assert plain is not None
    assert ours is not None
    assert plain.key == phrase_key(read("你好").symbols, voice="woman", dialect="zh")
    assert plain.lexicon == ""
    assert len(ours.lexicon) == 64
    assert (hinted, tier) == (None, "cloud")
