"""ONNX back to torch: a student that goes on from where a pack stopped.

A pack outlives the checkpoint it was cut from. The exporter renames and transposes some
weights; which one is which is learnt by exporting a student of random weights, whose
values tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn

from common.errors import YaoheError
from common.voice.pack import Pack
from distill.export import HALF_SUFFIX, Graph, graphs, write_graph
from distill.student.model import Student

Arrays = Mapping[str, NDArray[np.float32]]


def _initializers(model: onnx.ModelProto) -> dict[str, NDArray[np.float32]]:
    """Floating point weights by the name that the exporter gave them."""
    arrays = {
        weight.name.removesuffix(HALF_SUFFIX): numpy_helper.to_array(weight)
        for weight in model.graph.initializer
    }
    return {
        name: array.astype(np.float32)
        for name, array in arrays.items()
        if np.issubdtype(array.dtype, np.floating)
    }


def _fill(graph: Graph, stored: Arrays) -> None:
    """Give a network of random weights the stored ones."""
    drawn = _initializers(write_graph(graph))
    parameters = dict(graph.module.named_parameters())
    for name, parameter in parameters.items():
        found = _counterpart(parameter, drawn)
        values = None if found is None else stored.get(found)
        if found is None or values is None:
            raise YaoheError("pack_invalid", f"the graph holds no weight {name}")
        ours = parameter.detach().numpy()
        is_turned = not np.array_equal(drawn[found], ours)
        turned = values.T if is_turned else values
        if turned.shape != tuple(parameter.shape):
            raise YaoheError("pack_invalid", f"{name}: another shape of student")
        with torch.no_grad():
            parameter.copy_(torch.from_numpy(turned.copy()))


def _counterpart(parameter: nn.Parameter, drawn: Arrays) -> str | None:
    """Name of the exported weight that equals a parameter or its transpose."""
    ours = parameter.detach().numpy()
    for name, array in drawn.items():
        if array.size == ours.size and (
            (array.shape == ours.shape and np.array_equal(array, ours))
            or (ours.ndim == 2 and np.array_equal(array, ours.T))
        ):
            return name
    return None


def restore(student: Student, pack: Pack, provider: str = "cpu") -> None:
    """Give a student the weights of a pack.

    Args:
        student: A student of the same shape; its weights are replaced.
        pack: The pack.
        provider: Whose weights to take, where a pack has several kinds.

    Raises:
        YaoheError: ``pack_invalid`` where the pack has no weights or those of another
            shape.
    """
    stages = pack.manifest.stages(provider)
    if stages is None:
        raise YaoheError("pack_invalid", f"{pack.label} has no weights of its own")
    _randomise(student)
    for name, graph in graphs(student).items():
        path = pack.directory / str(getattr(stages, name))
        _fill(graph, _initializers(onnx.load(path)))


def _randomise(student: Student) -> None:
    """Make every weight unlike every other one, constants included."""
    random = torch.Generator().manual_seed(0)

    def draw(like: Tensor) -> Tensor:
        return torch.rand(like.shape, generator=random) - 0.5

    with torch.no_grad():
        for parameter in student.parameters():
            parameter.copy_(draw(parameter))
