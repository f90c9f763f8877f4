"""Messages between this project and the process that runs the package.

A message is one line of JSON and, after it, the bytes of the arrays that it names. The
two sides trust each other: one starts the other. Both import this file, so it needs
numpy alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]
Message = tuple[dict[str, Any], Arrays]
"""What is said, and the arrays that go with it."""


def send(sink: BinaryIO, said: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a message.

    Args:
        sink: A pipe.
        said: What JSON can hold.
        arrays: Arrays of numbers, of any shape.
    """
    solid = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    forms = {name: (array.dtype.str, array.shape) for name, array in solid.items()}
    sink.write(json.dumps({"said": said, "arrays": forms}).encode() + b"\n")
    for array in solid.values():
        sink.write(array.tobytes())
    sink.flush()


def receive(source: BinaryIO) -> Message | None:
    """Read a message.

    Args:
        source: A pipe.

    Returns:
        The message, or None where the other side is gone.
    """
    line = source.readline()
    if not line.endswith(b"\n"):
        return None
    head = json.loads(line)
    arrays: dict[str, NDArray[Any]] = {}
    for name, (kind, shape) in head["arrays"].items():
        size = math.prod(shape) * np.dtype(kind).itemsize
        raw = source.read(size)
        if len(raw) < size:
            return None
        # A bytearray, so that whoever gets the array may write to it.
        arrays[name] = np.frombuffer(bytearray(raw), kind).reshape(shape)
    return head["said"], arrays
