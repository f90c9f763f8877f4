"""What a server says of its address: true for whoever reads it."""

from __future__ import annotations

import socket

import pytest

from common import listening
from common.errors import YaoheError
from common.listening import announcement, listen


def test_a_server_for_this_machine_alone_names_one_address() -> None:
    with listen("127.0.0.1", 0) as door:
        port = door.getsockname()[1]
        assert announcement(door) == f"http://127.0.0.1:{port}/"


def test_a_server_for_all_says_so_and_names_what_others_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listening, "_outer", lambda: "192.0.2.7")
    with listen("0.0.0.0", 0) as door:  # noqa: S104 - what is announced is the point
        port = door.getsockname()[1]
        said = announcement(door)
    assert "every address" in said
    assert f"http://192.0.2.7:{port}/" in said
    assert said.split()[-1] == f"http://127.0.0.1:{port}/"


def test_a_machine_without_a_network_has_no_address_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Nowhere(socket.socket):
        def connect(self, address: object) -> None:
            raise OSError("Network is unreachable")

    monkeypatch.setattr("socket.socket", Nowhere)
    assert listening._outer() is None


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_an_address_of_another_machine_is_refused_in_one_line(host: str) -> None:
    with pytest.raises(YaoheError) as refusal:
        listen(host, 0)
    assert f"cannot listen on {host}:0" in refusal.value.message
