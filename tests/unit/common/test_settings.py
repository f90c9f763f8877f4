"""The base of all settings."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings

from common.settings import Section, settings_error, tier_config


class Http(Section):
    port: Annotated[int, Field(ge=0, le=65535)] = 8701


class Box(BaseSettings):
    model_config = tier_config("edge")

    http: Http = Http()


def test_a_nested_value_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("YAOHE_EDGE_HTTP__PORT", "9000")
    assert Box().http.port == 9000


@pytest.mark.parametrize("name", ["PORT", "PROT"])
def test_a_wrong_value_or_name_is_named_as_it_was_set(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"YAOHE_EDGE_HTTP__{name}", "ninety")
    with pytest.raises(ValidationError) as refusal:
        Box()
    error = settings_error(refusal.value, "edge")
    assert error.code == "invalid_request"
    assert error.param == f"YAOHE_EDGE_HTTP__{name}"


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Box().http = Http(port=1)
