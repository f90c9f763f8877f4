"""A real box in trouble: clients that leave, power cuts, damaged files, taken ports."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from tests.e2e.boxes import Box, metric, running_box
from tests.e2e.processes import ROOT

SPEECH = "/v1/audio/speech"
WAIT_S = 60.0
LONG = "，".join(f"请{number}号顾客到{number % 9}号窗口取餐" for number in range(250))


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with running_box(
        tmp_path_factory.mktemp("faults"), SYNTHESIS__QUEUE="3"
    ) as running:
        yield running


@pytest.fixture
def client(box: Box) -> Iterator[httpx.Client]:
    with box.client() as client:
        yield client


def post(client: httpx.Client, text: str, **values: object) -> httpx.Response:
    return client.post(SPEECH, json={"input": text, **values})


def tier(client: httpx.Client, text: str) -> str:
    return post(client, text, response_format="opus").headers["X-Yaohe-Tier"]


def until_cached(client: httpx.Client, text: str) -> None:
    until = time.monotonic() + WAIT_S
    while tier(client, text) != "cache":
        assert time.monotonic() < until


def until_idle(client: httpx.Client) -> None:
    until = time.monotonic() + WAIT_S
    while metric(client, "yaohe_edge_synthesis_active"):
        assert time.monotonic() < until
        time.sleep(0.02)


def begin(box: Box, text: str) -> socket.socket:
    """Ask over a bare socket and read nothing."""
    address = urlsplit(box.address)
    asking = socket.create_connection((address.hostname, address.port or 0))
    body = f'{{"input": "{text}", "response_format": "pcm"}}'.encode()
    head = f"POST {SPEECH} HTTP/1.1\r\nHost: box\r\nContent-Length: {len(body)}\r\n\r\n"
    asking.sendall(head.encode() + body)
    return asking


def test_a_client_that_leaves_stops_the_work(box: Box, client: httpx.Client) -> None:
    made = metric(client, "yaohe_edge_synthesised_seconds")
    asking = begin(box, LONG)
    assert asking.recv(4096).startswith(b"HTTP/1.1 200")
    asking.close()
    until_idle(client)
    spoken = metric(client, "yaohe_edge_synthesised_seconds") - made
    assert spoken < 60
    assert metric(client, "yaohe_edge_abandoned_total") >= 1
    assert post(client, "下一位", response_format="pcm").status_code == 200


def test_a_client_that_stalls_does_not_hold_up_others(
    box: Box, client: httpx.Client
) -> None:
    stalled = begin(box, LONG + "。")
    stalled.recv(100)
    assert post(client, "下一位请进", response_format="pcm").status_code == 200
    stalled.close()
    until_idle(client)


def test_one_too_many_is_told_when_to_come_back(box: Box, client: httpx.Client) -> None:
    waiting = [begin(box, f"{number}{LONG}") for number in range(3)]
    for one in waiting:
        one.recv(100)
    refused = post(client, "第四个", response_format="pcm")
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "queue_full"
    assert int(refused.headers["Retry-After"]) >= 1
    for one in waiting:
        one.close()
    until_idle(client)
    assert post(client, "第四个", response_format="pcm").status_code == 200


def test_a_body_that_never_ends_ends_with_its_client(
    box: Box, client: httpx.Client
) -> None:
    address = urlsplit(box.address)
    for head in (
        b"POST /v1/audio/speech HTTP/1.1\r\nHost: b\r\nContent-Length: 99\r\n\r\n{",
    ):
        cut = socket.create_connection((address.hostname, address.port or 0))
        cut.sendall(head)
        cut.close()
    assert client.get("/healthz").status_code == 200


def test_what_was_kept_survives_a_power_cut(tmp_path: Path) -> None:
    texts = [f"请{number}号顾客取餐" for number in range(5)]
    with running_box(tmp_path) as box:
        with box.client() as client:
            for text in texts:
                post(client, text)
            for text in texts:
                until_cached(client, text)
        box.kill()
    with running_box(tmp_path) as box, box.client() as client:
        assert [tier(client, text) for text in texts] == ["cache"] * 5
        assert metric(client, "yaohe_edge_cache_rebuilds") == 0


def test_a_damaged_cache_is_replaced_and_the_box_speaks_meanwhile(
    tmp_path: Path,
) -> None:
    (tmp_path / "cache.db").write_bytes(os.urandom(1_000_000))
    with running_box(tmp_path) as box, box.client() as client:
        assert post(client, "你好", response_format="pcm").content
        until_cached(client, "你好")
        assert metric(client, "yaohe_edge_cache_rebuilds") == 1
    assert len(list(tmp_path.glob("cache.db.damaged.*"))) == 1


def test_a_cache_that_is_damaged_while_it_runs_is_replaced(tmp_path: Path) -> None:
    with running_box(tmp_path) as box, box.client() as client:
        post(client, "你好")
        until_cached(client, "你好")
        for name in ("cache.db", "cache.db-wal"):
            with (tmp_path / name).open("r+b") as file:
                file.write(b"\xff" * (tmp_path / name).stat().st_size)
        for number in range(20):
            answer = post(client, f"请{number}号顾客取餐", response_format="pcm")
            assert answer.status_code == 200
            assert answer.content
        until_cached(client, "你好吗")


def test_a_box_with_a_full_disk_speaks(tmp_path: Path) -> None:
    settings = {"CACHE__MIN_FREE_BYTES": str(10**18)}
    with running_box(tmp_path, **settings) as box, box.client() as client:
        for _ in range(3):
            assert tier(client, "你好") == "edge"


def test_asked_to_end_it_ends_well(tmp_path: Path) -> None:
    with running_box(tmp_path) as box:
        asking = begin(box, LONG)
        asking.recv(100)
        assert box.stop() in (0, -15)
        asking.close()
    with running_box(tmp_path) as box:
        assert box.stop() in (0, -15)


def test_a_taken_port_is_one_clear_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = subprocess.run(
            [
                *(sys.executable, "-m", "edge", "run", "--host", "127.0.0.1"),
                *("--port", str(taken.getsockname()[1]), "--data", str(tmp_path)),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot listen" in done.stderr


def test_a_box_without_its_starter_says_so_and_stays_up(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; import edge.packs;"
        f"edge.packs.starter_directory = lambda: Path({str(tmp_path / 'gone')!r});"
        "from edge.cli import main; sys.argv[1:] = ['doctor']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, "YAOHE_EDGE_DATA": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "starter pack" in done.stdout
