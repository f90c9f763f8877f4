"""The doors of box and cloud: whatever knocks gets an answer in one shape."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.e2e.boxes import running_box
from tests.e2e.clouds import running_cloud


@pytest.fixture(scope="module", params=["box", "cloud"])
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    folder = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        if request.param == "box":
            yield stack.enter_context(running_box(folder)).address
        else:
            yield stack.enter_context(running_cloud(folder)).address


@pytest.mark.parametrize(
    "raw",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS greeting\r\n\r\n",
        b"SPEAK UP\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/audio/speech HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_what_is_no_http_is_refused_in_json(address: str, raw: bytes) -> None:
    url = httpx.URL(address)
    with socket.create_connection((url.host, url.port or 80), timeout=30) as line:
        line.sendall(raw)
        answer = b""
        while part := line.recv(65536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["error"]["code"] == "invalid_request"
    assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_a_watchman_asks_for_the_head_alone(address: str, path: str) -> None:
    answer = httpx.head(f"{address}{path}")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/docs/oauth2-redirect"])
def test_no_page_needs_the_internet(address: str, path: str) -> None:
    assert httpx.get(f"{address}{path}").status_code == 404
    assert httpx.get(f"{address}/openapi.json").json()["paths"]
