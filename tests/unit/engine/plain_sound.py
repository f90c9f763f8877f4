"""Decoder and vocoder as one would write them down: the whole sound, nothing prepared."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from cloud.engine.chattts.assets import Assets


def whole(assets: Assets, steps: Any) -> Any:
    """Hidden states [steps, hidden] as samples."""
    return vocos(assets, decoder(assets.decoder, steps, assets.shape.decoder.layers))


def whole_of_codes(assets: Assets, codes: Any) -> Any:
    """Codes [steps, codebooks] as samples, by the other decoder."""
    parts = []
    for group in range(2):
        name = f"vq_layer.quantizer.rvqs.{group}.project_out."
        total = 0.0
        for place in range(2):
            for digit in range(4):
                code = codes[:, 2 * group + place] // 5**digit % 5
                weight = assets.dvae[name + "weight"][:, digit]
                total = total + (code[:, None] - 2) / 2 / 4**place * weight
        parts.append(total + assets.dvae[name + "bias"])
    features = torch.cat(parts, 1)
    layers = assets.shape.dvae_decoder.layers
    return vocos(assets, decoder(assets.dvae, features, layers))


def decoder(weights: Any, steps: Any, layers: int) -> Any:
    """Steps [steps, 2 * inputs] as mel [1, mels, frames]."""
    x = steps.reshape(2 * len(steps), -1).t()[None]
    x = conv(weights, "decoder.conv_in.0", x, padding=1)
    x = conv(weights, "decoder.conv_in.2", functional.gelu(x), padding=1)
    for index in range(layers):
        x = block(weights, f"decoder.decoder_block.{index}.", x, "weight", 2)
    x = functional.conv1d(x, weights["decoder.conv_out.weight"])
    return functional.conv1d(x, weights["out_conv.weight"], padding=1) * weights["coef"]


def vocos(assets: Assets, mel: Any) -> Any:
    """Mel [1, mels, frames] as samples."""
    weights, shape = assets.vocos, assets.shape
    x = norm(weights, "backbone.norm", conv(weights, "backbone.embed", mel, padding=3))
    for index in range(shape.vocos.layers):
        x = block(weights, f"backbone.convnext.{index}.", x, "gamma", 1)
    x = norm(weights, "backbone.final_layer_norm", x).transpose(1, 2)
    x = functional.linear(x, weights["head.out.weight"], weights["head.out.bias"])
    level, phase = x.transpose(1, 2).chunk(2, dim=1)
    spectrum = torch.polar(level.exp().clip(max=100), phase)
    window = weights["head.istft.window"]
    sound = torch.istft(spectrum, shape.n_fft, shape.hop, shape.n_fft, window)
    return sound[0].numpy()


def conv(weights: Any, name: str, x: Any, **how: Any) -> Any:
    return functional.conv1d(
        x, weights[name + ".weight"], weights[name + ".bias"], **how
    )


def norm(weights: Any, name: str, x: Any) -> Any:
    weight, bias = weights[name + ".weight"], weights[name + ".bias"]
    rows = x.transpose(1, 2)
    return functional.layer_norm(rows, rows.shape[2:], weight, bias, 1e-6).transpose(
        1, 2
    )


def block(weights: Any, prefix: str, x: Any, scale: str, dilation: int) -> Any:
    width = x.shape[1]
    y = conv(
        weights,
        prefix + "dwconv",
        x,
        padding=3 * dilation,
        dilation=dilation,
        groups=width,
    )
    y = norm(weights, prefix + "norm", y).transpose(1, 2)
    y = functional.linear(
        y, weights[prefix + "pwconv1.weight"], weights[prefix + "pwconv1.bias"]
    )
    y = functional.linear(
        functional.gelu(y),
        weights[prefix + "pwconv2.weight"],
        weights[prefix + "pwconv2.bias"],
    )
    return x + (y * weights[prefix + scale]).transpose(1, 2)
