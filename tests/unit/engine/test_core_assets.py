"""An asset folder is whole and right, or the error names the file and the fault."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from safetensors.torch import load_file, save_file  # noqa: E402

from cloud.engine.chattts import assets  # noqa: E402
from common.errors import YaoheError  # noqa: E402
from tests.tools.make_random_assets import DIMS, build  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    build(tmp_path, "tiny")
    return tmp_path


def retensored(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path)


def reconfigured(folder: Path, **changes: object) -> None:
    path = folder / "asset" / assets.CONFIG
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def refused(folder: Path, name: str, *words: str) -> None:
    with pytest.raises(YaoheError) as caught:
        assets.load(folder)
    assert caught.value.code == "pack_invalid"
    for word in (name, *words):
        assert word in caught.value.message


def test_the_sizes_are_read_from_the_files(folder: Path) -> None:
    loaded = assets.load(folder)
    sizes = DIMS["tiny"]
    shape = loaded.shape
    assert (shape.layers, shape.hidden, shape.heads) == (2, 64, 4)
    assert (shape.intermediate, shape.text_vocab) == (128, sizes.text_vocab)
    assert (shape.codes, shape.codebooks, shape.end) == (626, 4, 625)
    assert (shape.decoder.inputs, shape.vocos.layers, shape.hop) == (32, 2, 256)
    assert loaded.gpt["norm.weight"].dtype == torch.float32
    assert loaded.tokenizer.is_file()
    assert loaded.speaker_stat is not None
    assert [part.shape for part in loaded.speaker_stat] == [(64,), (64,)]
    assert "CC BY-NC" in loaded.licence


def test_the_digest_changes_with_any_file(folder: Path) -> None:
    before = assets.load(folder).digest
    path = folder / "asset/tokenizer/special_tokens_map.json"
    path.write_text(path.read_text() + "\n")
    assert assets.load(folder).digest != before


def test_a_licence_beside_the_weights_is_theirs(folder: Path) -> None:
    (folder / "LICENSE").write_text("ours, for every use\n")
    assert assets.load(folder).licence == "ours, for every use"


@pytest.mark.parametrize("name", assets.FILES)
def test_a_missing_file_is_named(folder: Path, name: str) -> None:
    (folder / "asset" / name).unlink()
    refused(folder, name, "missing")


@pytest.mark.parametrize("name", [n for n in assets.FILES if n.endswith("tensors")])
@pytest.mark.parametrize("kept", [0, 7, 1000, -1])
def test_a_file_that_was_cut_short_is_named(folder: Path, name: str, kept: int) -> None:
    path = folder / "asset" / name
    path.write_bytes(path.read_bytes()[:kept])
    refused(folder, name)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        (assets.GPT, "layers.1.mlp.up_proj.weight"),
        (assets.GPT, "norm.weight"),
        (assets.EMBED, "emb_code.2.weight"),
        (assets.EMBED, "head_text.parametrizations.weight.original0"),
        (assets.DECODER, "decoder.decoder_block.1.weight"),
        (assets.DVAE, "encoder.conv_in.2.bias"),
        (assets.VOCOS, "backbone.convnext.1.gamma"),
        (assets.VOCOS, "head.istft.window"),
    ],
)
def test_a_missing_tensor_is_named(folder: Path, name: str, tensor: str) -> None:
    retensored(folder / "asset" / name, lambda found: found.pop(tensor))
    refused(folder, name, tensor)


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (torch.full((64, 128), float("nan")), "finite"),
        (torch.full((64, 128), float("inf")), "finite"),
        (torch.zeros(64, 127), "(64, 128)"),
        (torch.zeros(64, 128, dtype=torch.int32), "float"),
    ],
)
def test_a_wrong_tensor_is_named(folder: Path, value: Any, word: str) -> None:
    name = "layers.0.mlp.down_proj.weight"
    path = folder / "asset" / assets.GPT
    retensored(path, lambda found: found.update({name: value}))
    refused(folder, assets.GPT, name, word)


def test_half_floats_are_read_as_the_same_numbers(folder: Path) -> None:
    path = folder / "asset" / assets.DECODER
    retensored(path, lambda found: found.update(coef=found["coef"].half()))
    assert assets.load(folder).decoder["coef"].dtype == torch.float32


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"num_hidden_layers": 3}, "layers.2."),
        ({"num_hidden_layers": 0}, "num_hidden_layers"),
        ({"num_attention_heads": 5}, "heads"),
        ({"num_key_value_heads": 2}, "heads"),
        ({"hidden_size": "64"}, "hidden_size"),
        ({"hidden_size": 128}, ""),
        ({"rope_scaling": {"type": "linear"}}, "positions"),
        ({"rms_norm_eps": -1}, "rms_norm_eps"),
        ({"model_type": "gpt2"}, "llama"),
    ],
)
def test_a_configuration_that_does_not_fit_is_named(
    folder: Path, change: dict[str, object], word: str
) -> None:
    reconfigured(folder, **change)
    refused(folder, "", word)


@pytest.mark.parametrize("raw", [b"", b"[1]", b"{", b"\xff\xfe", b"[" * 100_000])
def test_a_configuration_that_is_no_configuration_is_named(
    folder: Path, raw: bytes
) -> None:
    (folder / "asset" / assets.CONFIG).write_bytes(raw)
    refused(folder, assets.CONFIG)


@pytest.mark.parametrize("text", ["", "abc", "一丁", "一" * 5000])
def test_speaker_statistics_that_are_none_are_named(folder: Path, text: str) -> None:
    (folder / assets.SPEAKER_STAT).write_text(text, "utf-8")
    refused(folder, assets.SPEAKER_STAT)
