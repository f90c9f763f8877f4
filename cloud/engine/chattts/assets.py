"""A ChatTTS asset folder: nine files, checked before anything is computed with them.

Whoever runs the engine brings the files; none come with this project. Every tensor is
compared with the shape that the architecture gives it and must be finite, so that a
broken download is an error at the start and no noise in a shop.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from cloud.engine.chattts import base16384
from cloud.engine.chattts.shape import (
    CODEBOOKS,
    MELS,
    Layout,
    Shape,
    Sizes,
    Stack,
    blocks_of,
    decoder_layout,
    dvae_layout,
    embed_layout,
    gpt_layout,
    stack_of,
    vocos_layout,
)
from common.errors import YaoheError

Weights = Mapping[str, Tensor]

CONFIG = "gpt/config.json"
GPT = "gpt/model.safetensors"
EMBED = "Embed.safetensors"
DECODER = "Decoder.safetensors"
DVAE = "DVAE.safetensors"
VOCOS = "Vocos.safetensors"
TOKENIZER = "tokenizer/tokenizer.json"
FILES = (
    *(DECODER, DVAE, EMBED, VOCOS, CONFIG, GPT, TOKENIZER),
    *("tokenizer/special_tokens_map.json", "tokenizer/tokenizer_config.json"),
)
"""The nine files, relative to the folder ``asset``."""
SPEAKER_STAT = "spk_stat.txt"
"""Optional, beside ``asset``: spread and mean of the speaker vectors, in text form."""
LICENCE_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md")
"""Optional, beside ``asset``: the weights' own terms."""

DEFAULT_LICENCE = (
    "The published ChatTTS weights are CC BY-NC 4.0: for research, not for commerce. "
    "Put a LICENSE file beside the folder asset if these weights have other terms."
)
MAX_TEXT_BYTES = 1 << 20
"""Most bytes of the configuration, speaker statistics or licence."""
DTYPES = frozenset(("F32", "F16", "BF16"))
"""Types that weights may be stored in; they are used as fp32."""
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True)
class Assets:
    """A checked asset folder.

    Attributes:
        shape: Sizes of the model.
        gpt: The transformer's weights, fp32.
        embed: Embeddings and heads, fp32.
        decoder: Hidden states to mel, fp32.
        dvae: Codes to mel and back, fp32.
        vocos: Mel to sound, fp32.
        tokenizer: Path of ``tokenizer.json``.
        speaker_stat: Mean and spread of speaker vectors, float32 [hidden] each, or
            None where the folder does not say.
        digest: SHA-256 over the digests of the nine files.
        licence: The terms of the weights.
    """

    shape: Shape
    gpt: Weights
    embed: Weights
    decoder: Weights
    dvae: Weights
    vocos: Weights
    tokenizer: Path
    speaker_stat: tuple[Tensor, Tensor] | None
    digest: str
    licence: str


def load(directory: Path) -> Assets:
    """Read and check an asset folder.

    Args:
        directory: Holds the folder ``asset``.

    Returns:
        The weights in fp32.

    Raises:
        YaoheError: ``pack_invalid`` naming the file and what is wrong with it.
    """
    folder = directory / "asset"
    for name in FILES:
        if not (folder / name).is_file():
            raise _invalid(folder / name, "is missing")
    shape = _shape(folder)
    layouts: dict[str, Callable[[Shape], Layout]] = {
        GPT: gpt_layout,
        EMBED: embed_layout,
        DECODER: decoder_layout,
        DVAE: dvae_layout,
        VOCOS: vocos_layout,
    }
    files = {
        name: _tensors(folder / name, layout(shape)) for name, layout in layouts.items()
    }
    return Assets(
        shape,
        gpt=files[GPT],
        embed=files[EMBED],
        decoder=files[DECODER],
        dvae=files[DVAE],
        vocos=files[VOCOS],
        tokenizer=folder / TOKENIZER,
        speaker_stat=_speaker_stat(directory / SPEAKER_STAT, shape.hidden),
        digest=_digest(folder),
        licence=_licence(directory),
    )


def _invalid(path: Path, what: str) -> YaoheError:
    """The error for a file."""
    return YaoheError("pack_invalid", f"{path} {what}")


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A safetensors file, open; its errors name it."""
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except SafetensorError as error:
        raise _invalid(path, f"is no whole safetensors file: {error}") from None
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror}") from None


def _sizes(path: Path) -> dict[str, Sizes]:
    """Shapes of a file's tensors; nothing of them is read."""
    with _opened(path) as file:
        names: list[str] = file.keys()
        return {name: tuple(file.get_slice(name).get_shape()) for name in names}


def _tensors(path: Path, layout: Layout) -> dict[str, Tensor]:
    """The tensors of a layout as fp32; others that the file has beside them too."""
    found: dict[str, Tensor] = {}
    with _opened(path) as file:
        names: list[str] = file.keys()
        for name in sorted(layout.keys() - names):
            raise _invalid(path, f"has no tensor {name}")
        for name in names:
            view = file.get_slice(name)
            sizes = tuple(view.get_shape())
            if sizes != layout.get(name, sizes):
                raise _invalid(
                    path, f"has {name} as {sizes}, which should be {layout[name]}"
                )
            if view.get_dtype() not in DTYPES:
                raise _invalid(path, f"has {name} as {view.get_dtype()}, not as float")
            tensor = file.get_tensor(name).to(torch.float32)
            if not bool(torch.isfinite(tensor).all()):
                raise _invalid(path, f"has a number in {name} that is not finite")
            found[name] = tensor
    return found


def _shape(folder: Path) -> Shape:
    """Sizes, from the configuration and from the tensors themselves."""
    path = folder / CONFIG
    config = _config(path)
    hidden, heads = _count(path, config, "hidden_size"), _heads(path, config)
    if hidden % heads or hidden // heads % 2:
        raise _invalid(path, f"splits {hidden} channels over {heads} heads unevenly")
    embed, decoder, dvae, vocos = (
        _sizes(folder / name) for name in (EMBED, DECODER, DVAE, VOCOS)
    )
    codes, _ = _axes(folder / EMBED, embed, "emb_code.0.weight", 2)
    text, _ = _axes(folder / EMBED, embed, "emb_text.weight", 2)
    (window,) = _axes(folder / VOCOS, vocos, "head.istft.window", 1)
    shape = Shape(
        layers=_count(path, config, "num_hidden_layers"),
        hidden=hidden,
        intermediate=_count(path, config, "intermediate_size"),
        heads=heads,
        max_positions=_count(path, config, "max_position_embeddings"),
        eps=_positive(path, config, "rms_norm_eps", 1e-6),
        rope_base=_positive(path, config, "rope_theta", 10000.0),
        text_vocab=text,
        codes=codes,
        codebooks=CODEBOOKS,
        mels=MELS,
        decoder=_stack(folder / DECODER, decoder, "decoder."),
        dvae_encoder=_stack(folder / DVAE, dvae, "encoder."),
        dvae_decoder=_stack(folder / DVAE, dvae, "decoder."),
        vocos=_vocos(folder / VOCOS, vocos),
        n_fft=window,
    )
    if 2 * shape.decoder.inputs != hidden:
        raise _invalid(
            folder / DECODER,
            f"takes {shape.decoder.inputs} channels, half of {hidden} is needed",
        )
    return shape


def _config(path: Path) -> dict[str, Any]:
    """The transformer's configuration."""
    try:
        config = json.loads(_text(path))
    except (ValueError, RecursionError):
        raise _invalid(path, "is no JSON") from None
    if not isinstance(config, dict):
        raise _invalid(path, "is no JSON object")
    if config.get("model_type", "llama") != "llama":
        raise _invalid(path, f"is a {config['model_type']!r}, not a llama")
    if config.get("rope_scaling") is not None:
        raise _invalid(path, "scales its positions, which ChatTTS does not")
    return config


def _count(path: Path, config: Mapping[str, Any], name: str) -> int:
    """A positive whole number of the configuration."""
    value = config.get(name)
    if type(value) is not int or value < 1:
        raise _invalid(path, f"needs a positive whole number {name}")
    return value


def _heads(path: Path, config: Mapping[str, Any]) -> int:
    """Attention heads, which must all have keys and values of their own."""
    heads = _count(path, config, "num_attention_heads")
    if config.get("num_key_value_heads", heads) != heads:
        raise _invalid(path, "shares keys and values among heads; ChatTTS does not")
    return heads


def _positive(path: Path, config: Mapping[str, Any], name: str, usual: float) -> float:
    """A positive number of the configuration, or the usual one."""
    value = config.get(name, usual)
    if type(value) not in (int, float) or not 0 < value < float("inf"):
        raise _invalid(path, f"needs a positive number {name}")
    return float(value)


def _axes(path: Path, sizes: Mapping[str, Sizes], name: str, axes: int) -> Sizes:
    """The shape of a tensor that says how large others are."""
    if name not in sizes:
        raise _invalid(path, f"has no tensor {name}")
    if len(sizes[name]) != axes or min(sizes[name]) < 1:
        raise _invalid(path, f"has {name} as {sizes[name]}, which has no {axes} axes")
    return sizes[name]


def _stack(path: Path, sizes: Mapping[str, Sizes], prefix: str) -> Stack:
    """A stack's sizes; what is missing is named."""
    try:
        return stack_of(sizes, prefix)
    except KeyError as error:
        raise _invalid(path, f"has no tensor {error.args[0]}") from None
    except ValueError:
        raise _invalid(path, f"has a tensor of {prefix}* with the wrong axes") from None


def _vocos(path: Path, sizes: Mapping[str, Sizes]) -> Stack:
    """The vocoder's sizes."""
    inner, width = _axes(path, sizes, "backbone.convnext.0.pwconv1.weight", 2)
    outputs, _ = _axes(path, sizes, "head.out.weight", 2)
    layers = blocks_of(sizes, "backbone.convnext.")
    return Stack(MELS, width, width, inner, layers, outputs)


def _text(path: Path) -> str:
    """A short text file."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_TEXT_BYTES + 1)
        if len(raw) > MAX_TEXT_BYTES:
            raise _invalid(path, f"has more than {MAX_TEXT_BYTES} bytes")
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _invalid(path, "is no UTF-8 text") from None
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror}") from None


def _speaker_stat(path: Path, hidden: int) -> tuple[Tensor, Tensor] | None:
    """Mean and spread of speaker vectors, from half floats in base16384."""
    if not path.is_file():
        return None
    try:
        raw = base16384.decode(_text(path).strip())
        numbers = np.frombuffer(raw, np.dtype("<f2")).astype(np.float32)
        spread, mean = torch.from_numpy(numbers).reshape(2, hidden)
    except (YaoheError, ValueError, RuntimeError):
        raise _invalid(path, f"does not hold 2 x {hidden} half floats") from None
    if not bool(torch.isfinite(spread).all() and torch.isfinite(mean).all()):
        raise _invalid(path, "has a number that is not finite")
    return mean, spread


def _licence(directory: Path) -> str:
    """The weights' terms."""
    for name in LICENCE_FILES:
        if (directory / name).is_file():
            return _text(directory / name).strip()
    return DEFAULT_LICENCE


def _digest(folder: Path) -> str:
    """SHA-256 over the files' digests, in the order of :data:`FILES`."""
    whole = hashlib.sha256()
    for name in FILES:
        one = hashlib.sha256()
        with (folder / name).open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                one.update(block)
        whole.update(one.digest())
    return whole.hexdigest()
