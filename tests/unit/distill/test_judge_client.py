"""The judge's process: what it cannot do, it says in one line."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from common.errors import YaoheError
from distill.judge.client import Judge


def test_without_an_environment_it_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(YaoheError) as caught:
        Judge(tmp_path / "python", tmp_path)
    assert caught.value.code == "not_ready"
    assert "make judge" in caught.value.message
    assert "YAOHE_DISTILL_JUDGE" in caught.value.message


@pytest.mark.skipif(
    importlib.util.find_spec("faster_whisper") is not None,
    reason="the recogniser is installed here",
)
def test_an_environment_without_the_recogniser_names_what_is_missing(
    tmp_path: Path,
) -> None:
    with pytest.raises(YaoheError, match=r"the judge: .*faster_whisper"):
        Judge(Path(sys.executable), tmp_path)


def test_a_process_that_ends_at_once_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(YaoheError, match="the judge ended"):
        Judge(Path("/bin/true"), tmp_path)
