"""The package's process: how it is spoken to, and what happens when it is not there."""

from __future__ import annotations

import io
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud.engine.base import Drawing, Job
from cloud.engine.reference.client import PackageProcess
from cloud.engine.reference.engine import ReferenceEngine
from cloud.engine.reference.wire import receive, send
from common.errors import YaoheError
from common.text import read
from tests.tools.chattts_cases import PYTHON

SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)
KINDS = st.sampled_from(["f4", "f8", "i2", "i8", "u1", "?"])


def sent(said: dict[str, object], arrays: dict[str, np.ndarray]) -> bytes:  # type: ignore[type-arg]
    sink = io.BytesIO()
    send(sink, said, arrays)
    return sink.getvalue()


@given(
    st.dictionaries(st.text(max_size=4), st.integers() | st.text() | st.none()),
    st.dictionaries(st.text(max_size=4), st.tuples(SHAPES, KINDS), max_size=3),
    st.integers(0, 1 << 30),
)
def test_a_message_arrives_as_it_was_sent_or_not_at_all(
    said: dict[str, object], forms: dict[str, tuple[tuple[int, ...], str]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    arrays = {
        name: (100 * rng.standard_normal(shape)).astype(kind)
        for name, (shape, kind) in forms.items()
    }
    raw = sent(said, arrays)
    message = receive(io.BytesIO(raw))
    assert message is not None
    assert message[0] == said
    assert list(message[1]) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(message[1][name], array)
        assert message[1][name].dtype == array.dtype
        assert message[1][name].flags.writeable
    assert receive(io.BytesIO(raw[: int(rng.integers(len(raw)))])) is None


def test_nothing_imports_the_program_that_imports_the_package(root: Path) -> None:
    found = [
        str(path)
        for folder in ("cloud", "common", "distill", "edge", "tests", "deploy")
        for path in (root / folder).rglob("*.py")
        if re.search(
            r"^\s*(from|import) cloud\.engine\.reference(\.package| import package)\b",
            path.read_text("utf-8"),
            re.M,
        )
    ]
    assert found == []


def test_an_environment_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(YaoheError, match="make reference") as refusal:
        PackageProcess(tmp_path / "python", tmp_path, threads=1)
    assert refusal.value.code == "pack_invalid"


def test_an_environment_without_the_package_is_refused(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o755)
    with pytest.raises(YaoheError) as refusal:
        PackageProcess(python, tmp_path, threads=1)
    assert refusal.value.code == "pack_invalid"


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("safetensors", reason="it comes with the extra engine")
    from tests.tools.make_random_assets import build

    return build(tmp_path_factory.mktemp("assets"), "tiny")


@pytest.fixture
def package(assets: Path) -> Iterator[PackageProcess]:
    package = PackageProcess(PYTHON, assets, threads=1)
    yield package
    package.close()


@pytest.mark.slow
def test_files_that_were_changed_are_refused(assets: Path, tmp_path: Path) -> None:
    for path in assets.rglob("*"):
        copy = tmp_path / path.relative_to(assets)
        if path.is_dir():
            copy.mkdir(parents=True, exist_ok=True)
        else:
            copy.write_bytes(path.read_bytes())
    vocos = tmp_path / "asset" / "Vocos.safetensors"
    vocos.write_bytes(vocos.read_bytes()[:-4] + b"\0\0\0\0")
    with pytest.raises(YaoheError, match="refuses") as refusal:
        PackageProcess(PYTHON, tmp_path, threads=1)
    assert refusal.value.code == "pack_invalid"


@pytest.mark.slow
def test_a_request_that_is_given_up_ends_before_its_time(
    package: PackageProcess,
) -> None:
    steps: list[int] = []
    number = package.number()

    def speak() -> None:
        spoken = package.speak(["一丁"], number=number, max_new_token=400)
        steps.append(len(spoken.steps))

    thread = threading.Thread(target=speak)
    thread.start()
    package.give_up(number)
    thread.join()
    assert steps[0] < 400
    # The next request is another one.
    assert len(package.speak(["一丁"], max_new_token=20).steps) == 20


@pytest.mark.slow
def test_a_request_that_fails_leaves_the_process_there(package: PackageProcess) -> None:
    with pytest.raises(YaoheError, match="no_such") as refusal:
        package.speak(["一丁"], no_such=1)
    assert refusal.value.code == "voice_unavailable"
    assert package.speak(["一丁"], max_new_token=5).sounds[0].size


@pytest.mark.slow
async def test_a_job_says_how_it_is_drawn(assets: Path) -> None:
    engine = ReferenceEngine(assets, python=PYTHON, threads=1, max_steps=8)
    await engine.start()

    async def heard(drawing: Drawing, seed: int) -> np.ndarray:  # type: ignore[type-arg]
        job = Job("u", read("一丁"), "default", "zh", seed=seed, drawing=drawing)
        return np.concatenate([chunk async for chunk in engine.synthesize(job)])

    wild = Drawing(temperature=2.0, top_p=0.99, top_k=64, repetition_penalty=1.2)
    assert not np.array_equal(await heard(wild, 1), await heard(wild, 2))
    greedy = Drawing(temperature=0.0)
    np.testing.assert_array_equal(await heard(greedy, 1), await heard(greedy, 2))
    await engine.stop()


@pytest.mark.slow
async def test_an_engine_whose_process_died_is_not_ready(assets: Path) -> None:
    engine = ReferenceEngine(assets, python=PYTHON, threads=1, max_steps=8)
    await engine.start()
    assert engine._package is not None
    engine._package._process.kill()
    engine._package._process.wait()
    assert not engine.is_ready
    with pytest.raises(YaoheError) as refusal:
        await anext(engine.synthesize(Job("u", read("一丁"), "default", "zh")))
    assert refusal.value.code == "voice_unavailable"
    await engine.stop()
