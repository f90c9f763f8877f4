"""The command line: a failure is one clear line and exit code 2."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from cloud import cli
from common.voice.pack import starter_directory


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str]:
    code, _, said = run_whole(monkeypatch, capsys, *words)
    return code, said


def run_whole(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["yaohe-cloud", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    code = ended.value.code
    assert isinstance(code, int)
    said = capsys.readouterr()
    return code, said.out, said.err


def test_an_unknown_engine_to_fetch_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, said = run(monkeypatch, capsys, "engine", "fetch", "espeak")
    assert code == 2
    assert said.count("\n") == 1
    assert "espeak" in said


def test_a_bad_setting_is_one_line_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("YAOHE_CLOUD_HTTP__PORT", "door")
    code, said = run(monkeypatch, capsys, "serve")
    assert code == 2
    assert said.startswith("yaohe-cloud: YAOHE_CLOUD_HTTP__PORT")
    assert said.count("\n") == 1


def test_a_port_that_is_taken_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, out, said = run_whole(monkeypatch, capsys, "serve", "--port", port)
    # No address is announced where nobody answers.
    assert (code, out) == (2, "")
    assert f"cannot listen on 127.0.0.1:{port}" in said


@pytest.mark.parametrize("folder", [Path("/nowhere"), starter_directory()])
def test_a_pack_that_may_not_speak_ends_the_service(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    folder: Path,
) -> None:
    code, said = run(monkeypatch, capsys, "serve", "--port", "0", "--pack", str(folder))
    assert code == 2
    assert str(folder) in said.splitlines()[-1]
    assert ("--unsigned" in said) == (folder == starter_directory())


@pytest.mark.parametrize(
    "words",
    [
        ["boxes", "list"],
        ["boxes", "invite", "shop-1"],
        ["boxes", "remove", "shop-1"],
        ["phrases", "list"],
        ["phrases", "add", "欢迎光临"],
        ["phrases", "remove", "0" * 32],
        ["packs", "publish", str(starter_directory())],
    ],
)
def test_a_machine_without_a_chain_is_left_as_it_is(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("YAOHE_CLOUD_DATA", str(tmp_path / "cloud"))
    code, said = run(monkeypatch, capsys, *words)
    assert (code, said.count("\n")) == (2, 1)
    assert "keygen" in said
    assert not (tmp_path / "cloud").exists()
