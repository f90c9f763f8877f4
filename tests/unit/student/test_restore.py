"""A pack's weights go back into the student that they came from."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from common.errors import YaoheError
from common.voice.pack import load_pack, starter_directory
from common.voice.runtime import Session
from distill.export import difference, graphs
from distill.restore import restore
from distill.student.model import Shape, Student

pytestmark = pytest.mark.slow


def test_a_student_gets_back_what_its_pack_speaks_with() -> None:
    pack = load_pack(starter_directory(), trusted=True)
    student = Student()
    restore(student, pack)
    student.eval()
    for name, graph in graphs(student).items():
        session = Session(pack.directory / f"{name}.onnx")
        assert difference(graph, session, graph.inputs) < 1e-5


def test_a_student_of_another_shape_is_refused() -> None:
    pack = load_pack(starter_directory(), trusted=True)
    with pytest.raises(YaoheError, match="another shape"):
        restore(Student(Shape(width=48, encoder=6)), pack)
