"""Engine `chattts` behind the real commands: in the service, and in a worker."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("safetensors", reason="it comes with the extra engine")

from tests.e2e.clouds import Cloud, running_cloud
from tests.e2e.processes import ROOT
from tests.e2e.test_workers import metric, running_worker, spoken
from tests.tools.make_random_assets import build

pytestmark = pytest.mark.slow

TEXT = "一丁七上下三万"
SMALL = {"CHATTTS__WARM_UP": "2", "CHATTTS__CACHE_MIB": "64", "ENGINE__THREADS": "1"}


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    folder = build(tmp_path_factory.mktemp("assets"), "tiny", eos="natural")
    return ("--engine", "chattts", "--assets", str(folder), "--accept-licence")


@pytest.fixture(scope="module")
def cloud(
    tmp_path_factory: pytest.TempPathFactory, options: tuple[str, ...]
) -> Iterator[Cloud]:
    data = tmp_path_factory.mktemp("cloud")
    with running_cloud(data, *options, **SMALL) as running:
        yield running


def test_a_caller_who_names_no_voice_is_spoken_to(cloud: Cloud) -> None:
    answer = spoken(cloud, TEXT)
    assert answer.status_code == 200, answer.text
    assert len(answer.content) > 1000
    assert answer.headers["x-yaohe-reason"] == "spoken by chattts"
    assert answer.headers["x-yaohe-substituted"]


def test_a_receipt_does_not_promise_what_the_engine_does_not_keep(cloud: Cloud) -> None:
    number = spoken(cloud, "上下一七").headers["x-yaohe-utterance"]
    with cloud.client() as client:
        assert client.get(f"/v1/receipts/{number}").json()["enforced"] is False


def test_the_same_seed_is_the_same_sound_alone_and_in_company(
    cloud: Cloud, tmp_path: Path, options: tuple[str, ...]
) -> None:
    texts = [f"{TEXT}{'一丁七上'[n % 4] * (n + 1)}" for n in range(6)]

    def asked(text: str, seed: int) -> bytes:
        answer = spoken(cloud, text, seed=seed)
        assert answer.status_code == 200, answer.text
        return answer.content

    with ThreadPoolExecutor(len(texts)) as pool:
        together = list(pool.map(asked, texts, range(len(texts))))
    assert len(set(together)) == len(texts)
    with running_cloud(tmp_path, *options, **SMALL) as alone:
        for number, text in enumerate(texts):
            assert spoken(alone, text, seed=number).content == together[number]


def test_each_caller_says_how_codes_are_drawn(cloud: Cloud) -> None:
    ways: tuple[dict[str, float], ...] = (
        {},
        {"temperature": 2.0},
        {"temperature": 2.0, "top_k": 3},
        {"temperature": 2.0, "repetition_penalty": 2.0},
    )
    sounds = [spoken(cloud, TEXT, seed=1, **way) for way in ways]
    assert [answer.status_code for answer in sounds] == [200] * len(ways)
    assert len({answer.content for answer in sounds}) == len(ways)


def test_it_counts_its_steps_and_tokens(cloud: Cloud) -> None:
    spoken(cloud, "下上七")
    steps = metric(cloud, "yaohe_cloud_engine_steps_total")
    assert steps > 0
    assert metric(cloud, "yaohe_cloud_engine_tokens_total") >= steps
    assert metric(cloud, "yaohe_cloud_batch_rows_count") == 0


def test_a_worker_speaks_it_for_a_service_without_torch(
    tmp_path: Path, options: tuple[str, ...], cloud: Cloud
) -> None:
    with (
        running_worker(tmp_path / "w", *options, **SMALL) as worker,
        running_cloud(tmp_path / "c", "--worker", worker.address) as over,
        over.client() as client,
    ):
        there, here = (spoken(one, TEXT, seed=5) for one in (over, cloud))
        assert there.status_code == here.status_code == 200
        assert there.content == here.content
        number = there.headers["x-yaohe-utterance"]
        assert client.get(f"/v1/receipts/{number}").json()["enforced"] is False


def test_it_does_not_serve_before_the_terms_are_accepted(
    options: tuple[str, ...],
) -> None:
    words = [word for word in options if word != "--accept-licence"]
    for verb in ("serve", "worker"):
        done = subprocess.run(
            [sys.executable, "-m", "cloud", verb, "--port", "0", *words],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert re.search(r"CC BY-NC 4\.0.*--accept-licence", done.stderr)
        assert done.stderr.count("\n") == 1
