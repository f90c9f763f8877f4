"""What the settings of all tiers have in common.

A tier's settings are one frozen class with its sections as nested models, read from
``YAOHE_{CLOUD,EDGE,DISTILL}_*`` with ``__`` for nesting and from ``.env``. They are
built once, by the command line, and passed on; nothing reads them at import.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_settings import SettingsConfigDict

from common.complaint import complaint
from common.errors import YaoheError

NESTING = "__"


class Section(BaseModel):
    """A named part of a tier's settings; a misspelt name in it is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class LabelSettings(Section):
    """The AI-content label that every sound carries (GB 45438-2025).

    Attributes:
        producer: Name or code of the service that generates.
        propagator: Name or code of the service that spreads, if another.
    """

    producer: str = "Yaohe"
    propagator: str = ""


class LogSettings(Section):
    """Logging.

    Attributes:
        level: Least level written.
        form: One line for a person, or one JSON object.
    """

    level: Literal["debug", "info", "warning", "error"] = "info"
    form: Literal["plain", "json"] = "plain"


def tier_config(tier: str) -> SettingsConfigDict:
    """How a tier's settings class is read.

    Args:
        tier: ``cloud``, ``edge`` or ``distill``.

    Returns:
        The class's ``model_config``. Unknown names at the top are ignored, since one
        ``.env`` may serve several tiers.
    """
    return SettingsConfigDict(
        env_prefix=f"YAOHE_{tier.upper()}_",
        env_nested_delimiter=NESTING,
        env_file=".env",
        env_file_encoding="utf-8",
        extra="ignore",
        frozen=True,
    )


def settings_error(refusal: ValidationError, tier: str) -> YaoheError:
    """One clear line for settings that do not hold.

    Args:
        refusal: What the settings class raised.
        tier: ``cloud``, ``edge`` or ``distill``.

    Returns:
        ``invalid_request`` with the environment variable in ``param``.
    """
    place, wrong = complaint(refusal)
    path = NESTING.join(str(part) for part in place)
    name = f"YAOHE_{tier.upper()}_{path.upper()}"
    return YaoheError("invalid_request", f"{name}: {wrong}", param=name)
