"""Write a ChatTTS-shaped asset folder filled with seeded random weights.

    python -m tests.tools.make_random_assets OUT --size full     # 1.1 GB, real dimensions
    python -m tests.tools.make_random_assets OUT --size tiny     # 3 MB, for tests
    python -m tests.tools.make_random_assets OUT --size tiny --eos natural

The folder has the nine files that the ChatTTS package and our engine look for, so both
can load the very same weights without the published checkpoint. Only names and shapes of
tensors are reproduced. Written:

    OUT/asset/{Decoder,DVAE,Embed,Vocos}.safetensors
    OUT/asset/gpt/{config.json,model.safetensors}
    OUT/asset/tokenizer/{tokenizer.json,tokenizer_config.json,special_tokens_map.json}
    OUT/dims.json          the dimensions used: the package's configuration needs them
    OUT/sha256_map.json    the files' digests, under the names that the package uses
    OUT/spk_stat.txt       deviation and mean of speakers, for the chosen hidden size

The weights are drawn so that tests mean something: residual scales are O(0.1) (a start of
1e-6 would turn every decoder block into nothing and hide mistakes in receptive fields),
logits have a deviation of ``logit_std``, and with ``eos="never"`` the row that ends speech
is mute, so that the caller decides the number of steps.
"""

from __future__ import annotations

import argparse
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from cloud.engine.chattts import base16384
from tests.tools.random_tokenizer import write_json, write_tokenizer

Array: TypeAlias = NDArray[np.float32]
Weights: TypeAlias = dict[str, Array]
Eos: TypeAlias = Literal["never", "natural"]

BIAS = 0.02
"""Deviation of biases."""
FILES = (
    "asset/Decoder.safetensors",
    "asset/DVAE.safetensors",
    "asset/Embed.safetensors",
    "asset/Vocos.safetensors",
    "asset/gpt/config.json",
    "asset/gpt/model.safetensors",
    "asset/tokenizer/special_tokens_map.json",
    "asset/tokenizer/tokenizer_config.json",
    "asset/tokenizer/tokenizer.json",
)


@dataclass(frozen=True)
class Convolutions:
    """A stack of ConvNeXt blocks, under the names of the package's configuration."""

    idim: int
    odim: int
    hidden: int
    n_layer: int
    bn_dim: int


@dataclass(frozen=True)
class Dims:
    """Every size of the network."""

    hidden: int
    inter: int
    heads: int
    layers: int
    max_pos: int
    text_vocab: int
    dec: Convolutions
    dvae_enc: Convolutions
    dvae_dec: Convolutions
    vq: Mapping[str, Any]
    vocos: Mapping[str, int]
    audio_vocab: int = 626
    num_vq: int = 4


MEL = {"mels": 100, "n_fft": 1024, "hop": 256, "rate": 24000}
VQ = {"levels": [5, 5, 5, 5], "G": 2, "R": 2}
DIMS = {
    "full": Dims(
        hidden=768,
        inter=3072,
        heads=12,
        layers=20,
        max_pos=4096,
        text_vocab=21178,
        dec=Convolutions(384, 384, 512, 12, 128),
        dvae_enc=Convolutions(512, 1024, 256, 12, 128),
        dvae_dec=Convolutions(512, 512, 256, 12, 128),
        vq={"dim": 1024, **VQ},
        vocos={"dim": 512, "inter": 1536, "layers": 8, **MEL},
    ),
    "tiny": Dims(
        hidden=64,
        inter=128,
        heads=4,
        layers=2,
        max_pos=512,
        text_vocab=512,
        dec=Convolutions(32, 32, 32, 2, 16),
        dvae_enc=Convolutions(64, 128, 32, 2, 16),
        dvae_dec=Convolutions(64, 64, 32, 2, 16),
        vq={"dim": 128, **VQ},
        vocos={"dim": 32, "inter": 64, "layers": 2, **MEL},
    ),
}


class Draw:
    """A seeded source of float32 arrays."""

    def __init__(self, seed: Sequence[int]) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def normal(self, *shape: int, std: float) -> Array:
        """Normal numbers around zero."""
        drawn = self._generator.standard_normal(shape, dtype=np.float32)
        return drawn * np.float32(std)

    def uniform(self, *shape: int, low: float, high: float) -> Array:
        """Uniform numbers."""
        return self._generator.uniform(low, high, shape).astype(np.float32)

    def scale(self, size: int) -> Array:
        """A norm's weights."""
        return self.uniform(size, low=0.8, high=1.2)

    def dense(self, out: int, inp: int, *kernel: int, gain: float = 1.0) -> Array:
        """A matrix or kernel that keeps the deviation of what it is given."""
        fan = inp * math.prod(kernel)
        return self.normal(out, inp, *kernel, std=gain / math.sqrt(fan))

    def layer(
        self,
        into: Weights,
        name: str,
        out: int,
        inp: int,
        *kernel: int,
        gain: float = 1,
    ) -> None:
        """Add a matrix or kernel and its bias."""
        into[f"{name}.weight"] = self.dense(out, inp, *kernel, gain=gain)
        into[f"{name}.bias"] = self.normal(out, std=BIAS)

    def norm(self, into: Weights, name: str, size: int) -> None:
        """Add a layer norm."""
        into[f"{name}.weight"] = self.scale(size)
        into[f"{name}.bias"] = self.normal(size, std=BIAS)


def _llama(draw: Draw, dims: Dims) -> tuple[Weights, dict[str, Any]]:
    hidden, inter = dims.hidden, dims.inter
    # The package loads this embedding and throws it away.
    weights: Weights = {"embed_tokens.weight": np.zeros((32, hidden), np.float32)}
    residual = 1.0 / math.sqrt(2 * dims.layers)
    for index in range(dims.layers):
        at = f"layers.{index}."
        for letter in "qkv":
            weights[f"{at}self_attn.{letter}_proj.weight"] = draw.dense(hidden, hidden)
        weights[f"{at}self_attn.o_proj.weight"] = draw.dense(
            hidden, hidden, gain=residual
        )
        weights[f"{at}mlp.gate_proj.weight"] = draw.dense(inter, hidden)
        weights[f"{at}mlp.up_proj.weight"] = draw.dense(inter, hidden)
        weights[f"{at}mlp.down_proj.weight"] = draw.dense(hidden, inter, gain=residual)
        weights[f"{at}input_layernorm.weight"] = draw.scale(hidden)
        weights[f"{at}post_attention_layernorm.weight"] = draw.scale(hidden)
    weights["norm.weight"] = np.ones(hidden, np.float32)
    config = {
        "architectures": ["LlamaModel"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": hidden,
        "intermediate_size": inter,
        "num_attention_heads": dims.heads,
        "num_key_value_heads": dims.heads,
        "num_hidden_layers": dims.layers,
        "max_position_embeddings": dims.max_pos,
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "rope_scaling": None,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "initializer_range": 0.02,
        "pretraining_tp": 1,
        "torch_dtype": "float32",
        "use_cache": False,
        "vocab_size": 32,
    }
    return weights, config


def _embed(draw: Draw, dims: Dims, logit_std: float, eos: Eos) -> Weights:
    hidden, codes = dims.hidden, dims.audio_vocab
    # A speaker's vector has length 1: the embeddings have its scale.
    row = 1.0 / math.sqrt(hidden)
    weights = {
        f"emb_code.{index}.weight": draw.normal(codes, hidden, std=row)
        for index in range(dims.num_vq)
    }
    weights["emb_text.weight"] = draw.normal(dims.text_vocab, hidden, std=row)

    def head(name: str, size: int, mute: int | None = None) -> None:
        gains = draw.uniform(size, 1, low=0.9 * logit_std, high=1.1 * logit_std)
        if mute is not None:
            gains[mute] = 0.0
        weights[f"{name}.parametrizations.weight.original0"] = gains
        weights[f"{name}.parametrizations.weight.original1"] = draw.normal(
            size, hidden, std=1.0
        )

    head("head_text", dims.text_vocab)
    for index in range(dims.num_vq):
        head(f"head_code.{index}", codes, codes - 1 if eos == "never" else None)
    return weights


def _convnext(
    draw: Draw, into: Weights, at: str, dim: int, inter: int, scale: str
) -> None:
    draw.layer(into, f"{at}dwconv", dim, 1, 7)
    draw.norm(into, f"{at}norm", dim)
    draw.layer(into, f"{at}pwconv1", inter, dim)
    draw.layer(into, f"{at}pwconv2", dim, inter)
    into[at + scale] = draw.uniform(dim, low=0.1, high=0.4)


def _stack(draw: Draw, into: Weights, at: str, sizes: Convolutions) -> None:
    hidden, narrow = sizes.hidden, sizes.bn_dim
    draw.layer(into, f"{at}conv_in.0", narrow, sizes.idim, 3, gain=1.4)
    draw.layer(into, f"{at}conv_in.2", hidden, narrow, 3, gain=1.4)
    for index in range(sizes.n_layer):
        block = f"{at}decoder_block.{index}."
        _convnext(draw, into, block, hidden, hidden * 4, "weight")
    into[f"{at}conv_out.weight"] = draw.dense(sizes.odim, hidden, 1)


def _mel_constants(vocos: Mapping[str, int]) -> tuple[Array, Array]:
    """A periodic Hann window and an HTK mel filter bank, kept among the weights."""
    length, mels, rate = vocos["n_fft"], vocos["mels"], vocos["rate"]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    hertz = np.linspace(0, rate // 2, length // 2 + 1)
    top = 2595.0 * math.log10(1.0 + (rate / 2) / 700.0)
    points = 700.0 * (10.0 ** (np.linspace(0.0, top, mels + 2) / 2595.0) - 1.0)
    gaps = np.diff(points)
    slopes = points[None, :] - hertz[:, None]
    rise, fall = -slopes[:, :-2] / gaps[:-1], slopes[:, 2:] / gaps[1:]
    bank = np.maximum(0.0, np.minimum(rise, fall))
    return window.astype(np.float32), bank.astype(np.float32)


def _decoder(draw: Draw, dims: Dims) -> Weights:
    weights = {"coef": draw.uniform(1, 100, 1, low=0.5, high=1.5)}
    _stack(draw, weights, "decoder.", dims.dec)
    weights["out_conv.weight"] = draw.dense(100, dims.dec.idim, 3)
    return weights


def _dvae(draw: Draw, dims: Dims) -> Weights:
    dim = dims.dvae_dec.idim
    window, bank = _mel_constants(dims.vocos)
    weights = {"coef": draw.uniform(1, 100, 1, low=0.5, high=1.5)}
    draw.layer(weights, "downsample_conv.0", dim, 100, 3)
    draw.layer(weights, "downsample_conv.2", dim, dim, 4)
    weights["preprocessor_mel.mel_spec.spectrogram.window"] = window
    weights["preprocessor_mel.mel_spec.mel_scale.fb"] = bank
    _stack(draw, weights, "encoder.", dims.dvae_enc)
    _stack(draw, weights, "decoder.", dims.dvae_dec)
    weights["out_conv.weight"] = draw.dense(100, dim, 3)
    part, levels = dims.vq["dim"] // dims.vq["G"], len(dims.vq["levels"])
    for group in range(dims.vq["G"]):
        at = f"vq_layer.quantizer.rvqs.{group}."
        weights[f"{at}project_in.weight"] = draw.dense(levels, part, gain=1.5)
        weights[f"{at}project_in.bias"] = draw.normal(levels, std=0.1)
        weights[f"{at}project_out.weight"] = draw.dense(part, levels)
        weights[f"{at}project_out.bias"] = draw.normal(part, std=0.1)
    return weights


def _vocos(draw: Draw, dims: Dims) -> Weights:
    sizes = dims.vocos
    window, bank = _mel_constants(sizes)
    weights = {
        "feature_extractor.mel_spec.spectrogram.window": window,
        "feature_extractor.mel_spec.mel_scale.fb": bank,
    }
    draw.layer(weights, "backbone.embed", sizes["dim"], sizes["mels"], 7)
    for name in ("norm", "final_layer_norm"):
        draw.norm(weights, f"backbone.{name}", sizes["dim"])
    for index in range(sizes["layers"]):
        block = f"backbone.convnext.{index}."
        _convnext(draw, weights, block, sizes["dim"], sizes["inter"], "gamma")
    bins = sizes["n_fft"] // 2 + 1
    out = draw.dense(2 * bins, sizes["dim"])
    out[:bins] *= 0.7  # logarithms of magnitudes
    out[bins:] *= 2.0  # phases, spread round the circle
    bias = np.zeros(2 * bins, np.float32)
    bias[:bins] = 0.5 - 2.5 * np.linspace(0, 1, bins)  # falling, loud enough to measure
    weights["head.out.weight"], weights["head.out.bias"] = out, bias
    weights["head.istft.window"] = window
    return weights


def _speaker_stat(draw: Draw, hidden: int) -> str:
    std = draw.uniform(hidden, low=2.0, high=6.0).astype(np.float16)
    mean = draw.normal(hidden, std=1.0).astype(np.float16)
    return base16384.encode(np.concatenate([std, mean]).tobytes())


def build(
    out: Path,
    size: str = "full",
    *,
    seed: int = 0,
    logit_std: float = 3.0,
    eos: Eos = "never",
) -> Path:
    """Write an asset folder.

    Args:
        out: The folder; made if need be.
        size: ``full`` or ``tiny``.
        seed: Same seed, same weights.
        logit_std: Deviation of the logits, about.
        eos: Whether speech may end by itself.

    Returns:
        The folder.
    """
    dims = DIMS[size]
    asset = out / "asset"
    for folder in ("gpt", "tokenizer"):
        (asset / folder).mkdir(parents=True, exist_ok=True)
    # A seed per file: a change in one leaves the others as they were.
    llama, config = _llama(Draw([seed, 1]), dims)
    files = {
        "gpt/model": llama,
        "Embed": _embed(Draw([seed, 2]), dims, logit_std, eos),
        "Decoder": _decoder(Draw([seed, 3]), dims),
        "DVAE": _dvae(Draw([seed, 4]), dims),
        "Vocos": _vocos(Draw([seed, 5]), dims),
    }
    for name, weights in files.items():
        save_file(weights, asset / f"{name}.safetensors", metadata={"format": "pt"})
    write_json(asset / "gpt" / "config.json", config)
    write_tokenizer(asset / "tokenizer", dims.text_vocab)
    stat = _speaker_stat(Draw([seed, 6]), dims.hidden)
    (out / "spk_stat.txt").write_text(stat, encoding="utf-8")
    write_json(out / "dims.json", {"size": size, "seed": seed, **asdict(dims)})
    digests = {
        "sha256_" + name.replace("/", "_").replace(".", "_"): _sha256(out / name)
        for name in FILES
    }
    write_json(out / "sha256_map.json", digests)
    return out


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def main(argv: Sequence[str] | None = None) -> None:
    """Build a folder from the command line."""
    parser = argparse.ArgumentParser(description="Make a random ChatTTS asset folder.")
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", choices=sorted(DIMS), default="full")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--logit-std", type=float, default=3.0)
    parser.add_argument("--eos", choices=["never", "natural"], default="never")
    chosen = vars(parser.parse_args(argv))
    print("wrote", build(chosen.pop("out"), **chosen))


if __name__ == "__main__":
    main()
