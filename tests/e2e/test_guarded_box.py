"""A guarded box over its real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.e2e.boxes import Box, running_box

TOKEN = "of-the-shop"


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with running_box(tmp_path_factory.mktemp("box"), HTTP__TOKEN=TOKEN) as one:
        yield one


def stream(box: Box) -> str:
    return box.address.replace("http", "ws") + "/v1/stream"


@pytest.mark.parametrize("query", ["", "?token=", "?token=of-the-sho"])
def test_a_socket_without_the_token_is_refused_before_it_opens(
    box: Box, query: str
) -> None:
    with pytest.raises(InvalidStatus) as refusal:
        connect(stream(box) + query)
    answer = refusal.value.response
    assert answer.status_code == 401
    assert json.loads(bytes(answer.body or b""))["error"]["code"] == "unauthorized"


@pytest.mark.parametrize("is_header", [False, True])
def test_a_socket_with_the_token_speaks(box: Box, *, is_header: bool) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"} if is_header else None
    address = stream(box) + ("" if is_header else f"?token={TOKEN}")
    with connect(address, additional_headers=headers) as socket:
        start = {"type": "start", "stream": 1, "codec": "pcm", "input": "你好"}
        socket.send(json.dumps(start))
        said = json.loads(socket.recv(timeout=60))
    assert said["type"] == "started"
