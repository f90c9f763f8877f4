"""A service and its workers as real processes: speech, loss, drain, health, metrics."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from websockets.sync.client import connect

from cloud.worker.wire import SERVICE
from tests.e2e.clouds import READY_S, STOP_S, Cloud, running_cloud
from tests.e2e.processes import prefixed, started

pytestmark = pytest.mark.slow

SPEECH = "/v1/audio/speech"
TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
NOTICE = "欢迎光临，今天天气很好，请保管好随身物品，谢谢您的配合。" * 10
LONG = ("欢迎光临，今天天气很好，请保管好随身物品，谢谢您的配合。" * 200)[:4000]


@dataclass
class WorkerProcess:
    """A running worker.

    Attributes:
        process: The command.
        address: HOST:PORT of its gRPC.
    """

    process: subprocess.Popen[str]
    address: str

    def health(self) -> int:
        """What its health service says of the synthesizer."""
        with grpc.insecure_channel(self.address) as channel:
            stub: Any = health_pb2_grpc.HealthStub(channel)
            asked = health_pb2.HealthCheckRequest(service=SERVICE)
            return int(stub.Check(asked, timeout=30, wait_for_ready=True).status)


@contextmanager
def running_worker(
    data: Path, *options: str, **settings: str
) -> Iterator[WorkerProcess]:
    """Run a worker with the starter pack while the block runs."""
    command = ("cloud", "worker", "--port", "0", *options)
    told = prefixed("YAOHE_CLOUD", {"DATA": str(data), **settings})
    log = data / "worker.log"
    with started(*command, log=log, says="answers on", **told) as (process, address):
        yield WorkerProcess(process, address)


@contextmanager
def chain(data: Path, number: int) -> Iterator[tuple[Cloud, list[WorkerProcess]]]:
    """A service over some workers."""
    if number == 0:
        with running_cloud(data / "cloud") as cloud:
            yield cloud, []
        return
    patient = {"WORKER__GOODBYE_S": "300"}
    with (
        running_worker(data / "1", **patient) as first,
        running_worker(data / "2", **patient) as second,
    ):
        workers = [first, second][:number]
        options = [word for one in workers for word in ("--worker", one.address)]
        with running_cloud(data / "cloud", *options) as cloud:
            until(lambda: metric(cloud, "yaohe_cloud_workers_ready_count") == number)
            yield cloud, workers


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + READY_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def metric(cloud: Cloud, name: str) -> float:
    with cloud.client() as client:
        shown = client.get("/metrics").text
    (value,) = re.findall(rf"^{re.escape(name)} (\S+)$", shown, re.M)
    return float(value)


def spoken(cloud: Cloud, text: str, **values: object) -> httpx.Response:
    asked = {"input": text, "response_format": "pcm", **values}
    with cloud.client() as client:
        return client.post(SPEECH, json=asked)


def test_a_service_over_workers_speaks_the_very_same_sound(tmp_path: Path) -> None:
    with chain(tmp_path / "a", 0) as (alone, _), chain(tmp_path / "b", 2) as (over, _):
        for text in (TEXT, "请A023号顾客到3号窗口取餐。"):
            answers = [spoken(cloud, text) for cloud in (alone, over)]
            assert [one.status_code for one in answers] == [200, 200]
            assert answers[0].content == answers[1].content
        with over.client() as client:
            voices = client.get("/v1/audio/voices").json()
        with alone.client() as client:
            assert client.get("/v1/audio/voices").json() == voices
        again = spoken(over, TEXT)
        assert again.headers["x-yaohe-tier"] == "cache"
        assert "packed" in spoken(over, "三号").headers["x-yaohe-reason"]


def test_a_worker_killed_before_any_sound_is_replaced_unseen(tmp_path: Path) -> None:
    with chain(tmp_path, 2) as (cloud, workers):
        first = workers[0].process
        # It stands still with the request in its hands, and then it is gone.
        first.send_signal(signal.SIGSTOP)
        with cloud.client() as client:
            asked = {"input": TEXT, "response_format": "pcm"}
            request = client.build_request("POST", SPEECH, json=asked)
            waiting = subprocess.Popen(["sh", "-c", f"sleep 1; kill -9 {first.pid}"])
            answer = client.send(request)
            waiting.wait()
        assert answer.status_code == 200
        assert len(answer.content) > 48_000
        assert metric(cloud, "yaohe_cloud_replaced_total") == 1
        assert metric(cloud, "yaohe_cloud_workers_ready_count") == 1
        assert spoken(cloud, "下一位").status_code == 200


def test_a_worker_killed_after_the_first_sound_breaks_the_answer_off(
    tmp_path: Path,
) -> None:
    with chain(tmp_path, 1) as (cloud, workers), cloud.client() as client:
        asked = {"input": LONG, "response_format": "pcm"}
        with client.stream("POST", SPEECH, json=asked) as answer:
            assert answer.status_code == 200
            pieces = answer.iter_bytes()
            next(pieces)
            workers[0].process.kill()
            with pytest.raises(httpx.RemoteProtocolError):
                for _ in pieces:
                    pass
        refused = spoken(cloud, "下一位")
        assert refused.status_code == 503
        assert refused.headers["retry-after"]


def test_a_stream_whose_worker_is_killed_is_told_so(tmp_path: Path) -> None:
    with chain(tmp_path, 1) as (cloud, workers):
        address = cloud.address.replace("http", "ws") + "/v1/stream"
        with connect(address, proxy=None, max_size=None) as socket:
            socket.send(json.dumps({"type": "start", "input": LONG, "codec": "pcm"}))
            frames = 0
            last: dict[str, Any] = {"type": ""}
            while last["type"] not in ("error", "end"):
                message = socket.recv(timeout=60)
                if isinstance(message, str):
                    last = json.loads(message)
                    continue
                workers[0].process.kill()
                frames += 1
                socket.send(json.dumps({"type": "ack", "seq": frames}))
            assert last["type"] == "error"
            assert last["error"]["code"] == "voice_unavailable"


def test_a_worker_that_is_told_to_stop_ends_what_runs_and_takes_nothing_new(
    tmp_path: Path,
) -> None:
    with chain(tmp_path, 2) as (cloud, workers), cloud.client() as client:
        assert workers[0].health() == health_pb2.HealthCheckResponse.SERVING
        asked = {"input": NOTICE, "response_format": "pcm"}
        with client.stream("POST", SPEECH, json=asked) as answer:
            pieces = answer.iter_bytes()
            received = len(next(pieces))
            workers[0].process.terminate()
            workers[1].process.terminate()
            received += sum(map(len, pieces))
        for worker in workers:
            assert worker.process.wait(STOP_S) == 0
        assert spoken(cloud, "下一位").status_code == 503
    with chain(tmp_path / "whole", 0) as (alone, _):
        assert received == len(spoken(alone, NOTICE).content)


def test_a_listener_who_leaves_frees_the_worker_for_the_next(tmp_path: Path) -> None:
    with running_worker(tmp_path / "w", ENGINE__SLOTS="1") as worker:
        options = ("--worker", worker.address)
        with running_cloud(tmp_path / "c", *options) as cloud:
            with cloud.client() as client:
                asked = {"input": LONG, "response_format": "pcm"}
                with client.stream("POST", SPEECH, json=asked) as answer:
                    next(answer.iter_bytes())
            assert spoken(cloud, "下一位").status_code == 200
            assert metric(cloud, "yaohe_cloud_stopped_total") == 1


def test_a_worker_counts_over_http(
    tmp_path: Path, free_port: Callable[[], int]
) -> None:
    port = free_port()
    with running_worker(tmp_path / "w", "--metrics-port", str(port)) as worker:
        with running_cloud(tmp_path / "c", "--worker", worker.address) as cloud:
            assert spoken(cloud, TEXT).status_code == 200
        url = f"http://127.0.0.1:{port}/metrics"
        shown = httpx.get(url, trust_env=False).text
    assert 'yaohe_cloud_requests_total{tier="cloud"} 1.0' in shown
    assert 'yaohe_cloud_real_time_factor_ratio_count{engine="packed"} 1.0' in shown
    assert "tts_queue_length 0.0" in shown
