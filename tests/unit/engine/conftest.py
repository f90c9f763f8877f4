"""Random assets that tests of the ChatTTS engine share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from cloud.engine.chattts.assets import Assets


@pytest.fixture(scope="session")
def tiny_assets(tmp_path_factory: pytest.TempPathFactory) -> Assets:
    """A model of a few megabytes."""
    from cloud.engine.chattts.assets import load
    from tests.tools.make_random_assets import build

    return load(build(tmp_path_factory.mktemp("tiny-assets"), "tiny"))


@pytest.fixture(scope="session")
def deep_assets(tiny_assets: Assets) -> Assets:
    """The same, its decoder and vocoder with as many blocks as the published model.

    So each sample depends on as many steps as there: 52 on each side.
    """
    shape = tiny_assets.shape
    return replace(
        tiny_assets,
        decoder=_deeper(tiny_assets.decoder, "decoder.decoder_block.", 12),
        vocos=_deeper(tiny_assets.vocos, "backbone.convnext.", 8),
        shape=replace(
            shape,
            decoder=replace(shape.decoder, layers=12),
            vocos=replace(shape.vocos, layers=8),
        ),
    )


def _deeper(weights: Any, prefix: str, layers: int) -> dict[str, Any]:
    """Weights in which the first two blocks take turns."""
    deep = dict(weights)
    for index in range(2, layers):
        like = f"{prefix}{index % 2}."
        for name in [name for name in weights if name.startswith(like)]:
            deep[f"{prefix}{index}.{name.removeprefix(like)}"] = weights[name]
    return deep
