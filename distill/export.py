"""Torch to ONNX: three graphs with fp16 weights, proven equal before they are kept.

Graphs are written for opset 18 and IR version 10, which onnxruntime 1.23 loads (the
last one for Python 3.10). Weights are stored as fp16 and widened when the graph is
loaded, so a pack is half the size and computes in fp32; the torch side of the
comparison gets the same rounded weights.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from common.errors import YaoheError
from common.text.symbols import TONE_INPUTS
from common.voice.runtime import Session
from distill.student.model import PITCH_INPUTS, POSITIONS, Acoustic, Masks, Student

OPSET = 18
IR_VERSION = 10
TOLERANCE = 1e-4
"""Largest difference between torch and ONNX, relative to the largest value (at least
1), that a graph may show."""
HALF_FROM = 16
"""Weights with at least this many numbers are stored as fp16."""
HALF_SUFFIX = ".fp16"
"""What the name of a weight ends in once it is stored as fp16."""
STAGES = ("encoder", "prosody", "decoder")


class Decoder(nn.Module):
    """Acoustic model and masks as one graph."""

    def __init__(self, acoustic: Acoustic, masks: Masks) -> None:
        """Join the two.

        Args:
            acoustic: Hidden vectors to mel.
            masks: Mel to masks.
        """
        super().__init__()
        self.acoustic = acoustic
        self.masks = masks

    def forward(
        self, hidden: Tensor, positions: Tensor, pitch: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Frames to masks; see the two parts."""
        masks: tuple[Tensor, Tensor] = self.masks(
            self.acoustic(hidden, positions, pitch), pitch
        )
        return masks


@dataclass(frozen=True)
class Graph:
    """One network and how it is called.

    Attributes:
        module: The network.
        inputs: Example inputs by name; the second axis is free.
        outputs: Output names.
    """

    module: nn.Module
    inputs: Mapping[str, Tensor]
    outputs: tuple[str, ...]


def graphs(student: Student) -> dict[str, Graph]:
    """The three graphs with example inputs from a fixed seed.

    Args:
        student: The model.

    Returns:
        Graphs by the name of their stage.
    """
    random = torch.Generator().manual_seed(0)
    width = student.shape.width

    def noise(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random)

    return {
        "encoder": Graph(
            student.encoder,
            {
                "symbols": torch.randint(5, 100, (1, 23), generator=random),
                "tones": noise(1, 23, TONE_INPUTS),
                "speaker": torch.tensor([1]),
                "dialect": torch.tensor([0]),
            },
            ("hidden", "lengths"),
        ),
        "prosody": Graph(
            student.prosody,
            {"hidden": noise(1, 57, width), "positions": noise(1, 57, POSITIONS).abs()},
            ("pitch", "voicing"),
        ),
        "decoder": Graph(
            Decoder(student.acoustic, student.masks).train(student.training),
            {
                "hidden": noise(1, 57, width),
                "positions": noise(1, 57, POSITIONS).abs(),
                "pitch": noise(1, 57, PITCH_INPUTS),
            },
            ("harmonic", "noise"),
        ),
    }


def round_weights(student: Student) -> None:
    """Round all weights to what fp16 can hold, in place."""
    with torch.no_grad():
        for parameter in student.parameters():
            if parameter.numel() >= HALF_FROM:
                parameter.copy_(parameter.half().float())


def write_graph(graph: Graph) -> onnx.ModelProto:
    """Export one network.

    Args:
        graph: The network.

    Returns:
        Its graph with fp32 weights.
    """
    names = list(graph.inputs)
    free = {name: {1: "steps"} for name in names if graph.inputs[name].dim() > 1}
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            graph.module,
            tuple(graph.inputs.values()),
            buffer,
            input_names=names,
            output_names=list(graph.outputs),
            dynamic_axes={**free, **{name: {1: "steps"} for name in graph.outputs}},
            opset_version=OPSET,
            dynamo=False,
        )
    model = onnx.load_from_string(buffer.getvalue())
    model.ir_version = IR_VERSION
    return model


def _halve(model: onnx.ModelProto) -> None:
    """Store large fp32 weights as fp16, widened by a cast when the graph loads."""
    kept, casts = [], []
    for weight in model.graph.initializer:
        array = numpy_helper.to_array(weight)
        if array.dtype != np.float32 or array.size < HALF_FROM:
            kept.append(weight)
            continue
        stored = weight.name + HALF_SUFFIX
        kept.append(numpy_helper.from_array(array.astype(np.float16), stored))
        casts.append(
            helper.make_node("Cast", [stored], [weight.name], to=TensorProto.FLOAT)
        )
    nodes = [*casts, *model.graph.node]
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(kept)
    model.graph.node.extend(nodes)


def difference(graph: Graph, session: Session, inputs: Mapping[str, Tensor]) -> float:
    """Largest difference between torch and the exported graph.

    Args:
        graph: The torch side.
        session: The exported side.
        inputs: Inputs by name.

    Returns:
        The largest absolute difference over the largest absolute value (at least 1).
    """
    with torch.no_grad():
        ours = graph.module(*inputs.values())
    feeds: dict[str, NDArray[np.generic]] = {
        name: value.numpy() for name, value in inputs.items()
    }
    worst = 0.0
    for mine, theirs in zip(ours, session.run(feeds), strict=True):
        reference = mine.numpy()
        scale = max(1.0, float(np.abs(reference).max()))
        worst = max(worst, float(np.abs(reference - theirs).max()) / scale)
    return worst


def export(student: Student, folder: Path) -> dict[str, float]:
    """Export a student.

    Args:
        student: The model; its weights are rounded to fp16 in place.
        folder: Where ``encoder.onnx``, ``prosody.onnx`` and ``decoder.onnx`` go.

    Returns:
        The difference of each graph from torch.

    Raises:
        YaoheError: ``pack_invalid`` where a graph differs by more than
            :data:`TOLERANCE`; nothing is kept then.
    """
    student.eval()
    round_weights(student)
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    written: dict[str, bytes] = {}
    worst: dict[str, float] = {}
    for name, graph in graphs(student).items():
        model = write_graph(graph)
        _halve(model)
        onnx.checker.check_model(model)
        written[name] = model.SerializeToString(deterministic=True)
        session = Session(written[name])
        # A second length proves that the free axis is free.
        longer = {
            key: torch.cat([value, value], 1) if value.dim() > 1 else value
            for key, value in graph.inputs.items()
        }
        worst[name] = max(
            difference(graph, session, inputs) for inputs in (graph.inputs, longer)
        )
        if worst[name] > TOLERANCE:
            raise YaoheError(
                "pack_invalid", f"{name}: ONNX differs from torch by {worst[name]:.2e}"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in written.items():
        (folder / f"{name}.onnx").write_bytes(data)
    return worst
