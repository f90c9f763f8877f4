"""Settings from the environment and the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cloud.cli import app, load_settings
from cloud.engine.packed import PackedEngine
from cloud.engines import ENGINES, build, speaking
from cloud.settings import CloudSettings
from cloud.worker.pool import WorkerPool
from common.errors import YaoheError


def test_the_environment_reaches_every_section(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text(
        "YAOHE_CLOUD_HTTP__PORT=9000\nYAOHE_EDGE_HTTP__PORT=1\nOTHER=1\n"
    )
    monkeypatch.setenv("YAOHE_CLOUD_ENGINE__NAME", "kokoro")
    monkeypatch.setenv("YAOHE_CLOUD_ENGINE__PACKS", '["/a", "/b"]')
    settings = CloudSettings()
    assert settings.http.port == 9000
    assert settings.engine.name == "kokoro"
    assert settings.engine.packs == (Path("/a"), Path("/b"))


def test_the_command_line_wins_over_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("YAOHE_CLOUD_HTTP__PORT", "9000")
    monkeypatch.setenv("YAOHE_CLOUD_HTTP__HOST", "192.0.2.1")
    settings = load_settings(http={"port": 9001, "host": None})
    assert (settings.http.host, settings.http.port) == ("192.0.2.1", 9001)


def test_a_bad_value_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAOHE_CLOUD_QUEUE__CAPACITY", "many")
    with pytest.raises(YaoheError, match="YAOHE_CLOUD_QUEUE__CAPACITY"):
        load_settings()


def test_kokoro_lies_among_the_clouds_data_unless_told(tmp_path: Path) -> None:
    settings = CloudSettings(data=tmp_path)
    assert settings.kokoro_directory == tmp_path / "engines" / "kokoro"


def test_every_engine_is_listed_with_its_licence_and_built() -> None:
    listed = CliRunner().invoke(app, ["engine", "list"]).output
    for name, about in ENGINES.items():
        assert f"{name}\n" in listed
        assert about.licence in listed
        if name not in ("chattts", "reference"):
            built = build(load_settings(engine={"name": name}))
            assert (built.name, built.is_ready) == (name, False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chattts", "reference"])
def test_chattts_is_built_once_its_terms_are_accepted(
    tmp_path: Path, name: str
) -> None:
    chosen = {"assets": tmp_path, "accept_licence": True}
    built = build(load_settings(engine={"name": name}, chattts=chosen))
    assert (built.name, built.enforced, built.is_ready) == (name, False, False)


@pytest.mark.parametrize("name", ["chattts", "reference"])
def test_chattts_does_not_speak_before_its_terms_are_accepted(name: str) -> None:
    with pytest.raises(YaoheError, match=r"CC BY-NC 4\.0.*--accept-licence"):
        build(load_settings(engine={"name": name}))


def test_an_engine_whose_packages_are_missing_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cloud.engine.chattts.engine", None)
    accepted = {"accept_licence": True}
    with pytest.raises(YaoheError, match=r"yaohe\[engine\]"):
        build(load_settings(engine={"name": "chattts"}, chattts=accepted))


def test_half_a_set_of_certificates_is_refused(tmp_path: Path) -> None:
    with pytest.raises(YaoheError, match="go together"):
        load_settings(worker={"certificate": tmp_path})


@pytest.mark.parametrize("address", ["host", "host:", ":x", "a b:1", "host:123456"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(YaoheError, match="YAOHE_CLOUD_WORKER__ADDRESSES"):
        load_settings(worker={"addresses": [address]})


def test_a_service_with_workers_loads_no_engine_of_its_own() -> None:
    chosen = speaking(load_settings(worker={"addresses": ["127.0.0.1:8702"]}))
    assert isinstance(chosen, WorkerPool)
    assert isinstance(speaking(load_settings()), PackedEngine)


def test_the_packed_engine_knows_its_packs(tmp_path: Path) -> None:
    settings = load_settings(engine={"packs": [tmp_path]})
    assert isinstance(build(settings), PackedEngine)


def test_every_command_teaches() -> None:
    for command in (["serve"], ["worker"], ["engine", "fetch"], ["engine", "list"], []):
        shown = CliRunner().invoke(app, [*command, "--help"])
        assert shown.exit_code == 0
        assert len(shown.output) > 200
