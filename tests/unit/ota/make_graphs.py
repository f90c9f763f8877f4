"""Makes the three graphs of the test voice; run it by hand, what it makes is kept.

A hum: every symbol lasts six frames, the pitch is always the same, the spectrum falls.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR_VERSION = 17, 8
BINS, SLICES = 301, 2
MASK = BINS * SLICES
LENGTH = float(np.log(7.0))
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64


def _value(name: str, kind: int, *shape: object) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


def _constant(name: str, value: object) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(value), name)


def _save(
    folder: Path,
    name: str,
    nodes: list[object],
    ends: tuple[list[object], list[object]],
    constants: list[object],
) -> None:
    graph = helper.make_graph(nodes, name, ends[0], ends[1], constants)
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION
    )
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / f"{name}.onnx"))


def make(folder: Path) -> None:
    """Write encoder, prosody and decoder."""
    node = helper.make_node
    _save(
        folder,
        "encoder",
        [
            node("Cast", ["symbols"], ["number"], to=FLOAT),
            node("ReduceSum", ["tones", "last"], ["tone"], keepdims=0),
            node("Cast", ["speaker"], ["who"], to=FLOAT),
            node("Cast", ["dialect"], ["where"], to=FLOAT),
            node("Add", ["who", "where"], ["both"]),
            node("Add", ["number", "tone"], ["heard"]),
            node("Add", ["heard", "both"], ["all"]),
            node("Unsqueeze", ["all", "last"], ["hidden"]),
            node("Mul", ["number", "zero"], ["nothing"]),
            node("Add", ["nothing", "length"], ["lengths"]),
        ],
        (
            [
                _value("symbols", INT, 1, "n"),
                _value("tones", FLOAT, 1, "n", "t"),
                _value("speaker", INT, 1),
                _value("dialect", INT, 1),
            ],
            [_value("hidden", FLOAT, 1, "n", 1), _value("lengths", FLOAT, 1, "n")],
        ),
        [
            _constant("last", np.array([-1], np.int64)),
            _constant("zero", np.float32(0)),
            _constant("length", np.float32(LENGTH)),
        ],
    )
    _save(
        folder,
        "prosody",
        [
            node("ReduceSum", ["hidden", "last"], ["sum"], keepdims=0),
            node("ReduceSum", ["positions", "last"], ["place"], keepdims=0),
            node("Add", ["sum", "place"], ["both"]),
            node("Mul", ["both", "zero"], ["pitch"]),
            node("Add", ["pitch", "one"], ["voicing"]),
        ],
        (
            [
                _value("hidden", FLOAT, 1, "f", 1),
                _value("positions", FLOAT, 1, "f", 4),
            ],
            [_value("pitch", FLOAT, 1, "f"), _value("voicing", FLOAT, 1, "f")],
        ),
        [
            _constant("last", np.array([-1], np.int64)),
            _constant("zero", np.float32(0)),
            _constant("one", np.float32(1)),
        ],
    )
    falling = 0.05 * np.exp(-np.arange(BINS) / 20)
    slope = np.tile(falling, SLICES).astype(np.float32)
    _save(
        folder,
        "decoder",
        [
            node("ReduceSum", ["positions", "last"], ["place"], keepdims=1),
            node("ReduceSum", ["pitch", "last"], ["tune"], keepdims=1),
            node("Add", ["place", "tune"], ["some"]),
            node("Add", ["some", "hidden"], ["more"]),
            node("Mul", ["more", "zero"], ["nothing"]),
            node("Add", ["nothing", "slope"], ["harmonic"]),
            node("Mul", ["harmonic", "tenth"], ["noise"]),
        ],
        (
            [
                _value("hidden", FLOAT, 1, "f", 1),
                _value("positions", FLOAT, 1, "f", 4),
                _value("pitch", FLOAT, 1, "f", 2),
            ],
            [
                _value("harmonic", FLOAT, 1, "f", MASK),
                _value("noise", FLOAT, 1, "f", MASK),
            ],
        ),
        [
            _constant("last", np.array([-1], np.int64)),
            _constant("zero", np.float32(0)),
            _constant("tenth", np.float32(0.1)),
            _constant("slope", slope),
        ],
    )


if __name__ == "__main__":
    make(Path(__file__).parent / "graphs")
