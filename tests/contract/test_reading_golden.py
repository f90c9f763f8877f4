"""Every row of the reading cases: spoken forms, pinyin, jyutping and Chengdu."""

from __future__ import annotations

from typing import Any

import pytest

from common.text import read
from tests.tools.reading import DIALECT_OF, KINDS, is_right, rows

CASES = [
    pytest.param(row, kind, id=row["id"])
    for kind in KINDS
    for name in (f"frontend/{kind}", f"own/{kind}-before", f"own/{kind}-after")
    for row in rows(name)
]


@pytest.mark.parametrize(("row", "kind"), CASES)
def test_every_case_is_read_right(row: dict[str, Any], kind: str) -> None:
    reading = read(row["text"], DIALECT_OF[kind])
    assert is_right(reading, row, kind), (reading.spoken, reading.surface)
