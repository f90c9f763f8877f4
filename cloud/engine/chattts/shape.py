"""The sizes of a ChatTTS model, and the tensors that a model of these sizes has.

Everything is read from the asset files, so that a model of a few kilobytes and the
published one take the same path. Names and shapes are those of the published files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Sizes = tuple[int, ...]
"""Shape of one tensor."""
Layout = dict[str, Sizes]
"""Shapes of one file's tensors by name."""

CODEBOOKS = 4
"""Codes of one step."""
MELS = 100
"""Bands of the mel spectrogram between decoder and vocoder."""
KERNEL = 7
"""Taps of every depth-wise convolution and of the vocoder's first one."""
EDGE_KERNEL = 3
"""Taps of the convolutions at both ends of a stack."""


@dataclass(frozen=True)
class Stack:
    """A stack of ConvNeXt blocks between an input and an output convolution.

    Attributes:
        inputs: Channels that come in.
        bottleneck: Channels of the first convolution.
        width: Channels of the blocks.
        inner: Channels inside a block.
        layers: Blocks.
        outputs: Channels that go out.
    """

    inputs: int
    bottleneck: int
    width: int
    inner: int
    layers: int
    outputs: int


@dataclass(frozen=True)
class Shape:
    """The sizes of a model.

    Attributes:
        layers: Transformer layers.
        hidden: Width of the transformer.
        intermediate: Width inside its feed-forward part.
        heads: Attention heads; every head has keys and values of its own.
        max_positions: Tokens that a sequence may have, prompt and steps together.
        eps: Added to the mean square in every RMS norm.
        rope_base: Base of the rotary positions.
        text_vocab: Text tokens, control tokens included.
        codes: Values of one code, the end-of-speech value (the last) included.
        codebooks: Codes of a step.
        mels: Mel bands.
        decoder: The stack from hidden states to mel.
        dvae_encoder: The stack from mel to codes, for a voice sample.
        dvae_decoder: The stack from codes to mel.
        vocos: The vocoder's blocks; its bottleneck is its width.
        n_fft: Window of the vocoder's inverse transform, samples; a quarter is its hop.
    """

    layers: int
    hidden: int
    intermediate: int
    heads: int
    max_positions: int
    eps: float
    rope_base: float
    text_vocab: int
    codes: int
    codebooks: int
    mels: int
    decoder: Stack
    dvae_encoder: Stack
    dvae_decoder: Stack
    vocos: Stack
    n_fft: int

    @property
    def head_width(self) -> int:
        """Width of one attention head."""
        return self.hidden // self.heads

    @property
    def end(self) -> int:
        """The code that ends speech."""
        return self.codes - 1

    @property
    def hop(self) -> int:
        """Samples of one mel frame; a step makes two frames."""
        return self.n_fft // 4


def gpt_layout(shape: Shape) -> Layout:
    """The transformer's tensors.

    Args:
        shape: Sizes of the model.

    Returns:
        Shapes by name.
    """
    wide, inner = shape.hidden, shape.intermediate
    layout: Layout = {"norm.weight": (wide,)}
    for index in range(shape.layers):
        layer = f"layers.{index}."
        for name in "qkvo":
            layout[f"{layer}self_attn.{name}_proj.weight"] = (wide, wide)
        layout[layer + "mlp.gate_proj.weight"] = (inner, wide)
        layout[layer + "mlp.up_proj.weight"] = (inner, wide)
        layout[layer + "mlp.down_proj.weight"] = (wide, inner)
        layout[layer + "input_layernorm.weight"] = (wide,)
        layout[layer + "post_attention_layernorm.weight"] = (wide,)
    return layout


def embed_layout(shape: Shape) -> Layout:
    """The embeddings and heads; a head's weight is kept as gain and direction.

    Args:
        shape: Sizes of the model.

    Returns:
        Shapes by name.
    """
    layout: Layout = {"emb_text.weight": (shape.text_vocab, shape.hidden)}
    heads = {"head_text": shape.text_vocab}
    for index in range(shape.codebooks):
        layout[f"emb_code.{index}.weight"] = (shape.codes, shape.hidden)
        heads[f"head_code.{index}"] = shape.codes
    for name, rows in heads.items():
        weight = f"{name}.parametrizations.weight.original"
        layout[weight + "0"] = (rows, 1)
        layout[weight + "1"] = (rows, shape.hidden)
    return layout


def decoder_layout(shape: Shape) -> Layout:
    """The decoder's tensors.

    Args:
        shape: Sizes of the model.

    Returns:
        Shapes by name.
    """
    return {
        "coef": (1, shape.mels, 1),
        "out_conv.weight": (shape.mels, shape.decoder.outputs, EDGE_KERNEL),
        **dict(_stack("decoder.", shape.decoder)),
    }


def dvae_layout(shape: Shape) -> Layout:
    """The tensors of the part that turns codes to mel and back.

    Args:
        shape: Sizes of the model.

    Returns:
        Shapes by name, without those of the quantiser.
    """
    wide = shape.dvae_encoder.inputs
    return {
        "coef": (1, shape.mels, 1),
        "downsample_conv.0.weight": (wide, shape.mels, EDGE_KERNEL),
        "downsample_conv.0.bias": (wide,),
        "downsample_conv.2.weight": (wide, wide, 4),
        "downsample_conv.2.bias": (wide,),
        "out_conv.weight": (shape.mels, shape.dvae_decoder.outputs, EDGE_KERNEL),
        **dict(_stack("encoder.", shape.dvae_encoder)),
        **dict(_stack("decoder.", shape.dvae_decoder)),
    }


def vocos_layout(shape: Shape) -> Layout:
    """The vocoder's tensors.

    Args:
        shape: Sizes of the model.

    Returns:
        Shapes by name.
    """
    stack, bins = shape.vocos, shape.n_fft // 2 + 1
    layout: Layout = {
        "backbone.embed.weight": (stack.width, shape.mels, KERNEL),
        "backbone.embed.bias": (stack.width,),
        "head.out.weight": (2 * bins, stack.width),
        "head.out.bias": (2 * bins,),
        "head.istft.window": (shape.n_fft,),
    }
    for name in ("norm", "final_layer_norm"):
        layout[f"backbone.{name}.weight"] = (stack.width,)
        layout[f"backbone.{name}.bias"] = (stack.width,)
    for index in range(stack.layers):
        layout.update(_block(f"backbone.convnext.{index}.", stack, "gamma"))
    return layout


def _block(prefix: str, stack: Stack, scale: str) -> Iterator[tuple[str, Sizes]]:
    """One ConvNeXt block's tensors; ``scale`` names its layer scale."""
    yield prefix + "dwconv.weight", (stack.width, 1, KERNEL)
    yield prefix + "pwconv1.weight", (stack.inner, stack.width)
    yield prefix + "pwconv1.bias", (stack.inner,)
    yield prefix + "pwconv2.weight", (stack.width, stack.inner)
    for name in ("dwconv.bias", "norm.weight", "norm.bias", "pwconv2.bias", scale):
        yield prefix + name, (stack.width,)


def _stack(prefix: str, stack: Stack) -> Iterator[tuple[str, Sizes]]:
    """A whole stack's tensors."""
    yield prefix + "conv_in.0.weight", (stack.bottleneck, stack.inputs, EDGE_KERNEL)
    yield prefix + "conv_in.0.bias", (stack.bottleneck,)
    yield prefix + "conv_in.2.weight", (stack.width, stack.bottleneck, EDGE_KERNEL)
    yield prefix + "conv_in.2.bias", (stack.width,)
    for index in range(stack.layers):
        yield from _block(f"{prefix}decoder_block.{index}.", stack, "weight")
    yield prefix + "conv_out.weight", (stack.outputs, stack.width, 1)


def stack_of(sizes: Mapping[str, Sizes], prefix: str) -> Stack:
    """Read a stack's sizes from its tensors.

    Args:
        sizes: Shapes of a file's tensors by name.
        prefix: What the stack's names begin with.

    Returns:
        The stack.

    Raises:
        KeyError: A tensor that says a size is not there.
        ValueError: A tensor that says a size has not the right number of axes.
    """
    bottleneck, inputs, _ = sizes[prefix + "conv_in.0.weight"]
    inner, width = sizes[prefix + "decoder_block.0.pwconv1.weight"]
    outputs, _, _ = sizes[prefix + "conv_out.weight"]
    layers = blocks_of(sizes, prefix + "decoder_block.")
    return Stack(inputs, bottleneck, width, inner, layers, outputs)


def blocks_of(sizes: Mapping[str, Any], prefix: str) -> int:
    """Count the numbered blocks below a prefix.

    Args:
        sizes: A file's tensors by name.
        prefix: What stands before the number.

    Returns:
        How many different numbers there are.
    """
    names = (name[len(prefix) :] for name in sizes if name.startswith(prefix))
    return len({name.split(".", 1)[0] for name in names})
