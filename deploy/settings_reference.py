"""Writes `deploy/settings.env`: every setting, what it means, and its default.

The file is made from the settings classes, so that it cannot differ from them; a test
compares. It serves as the table in the papers and as a template for `.env` files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from cloud.settings import CloudSettings
from distill.settings import DistillSettings
from edge.settings import EdgeSettings

PLACE = Path(__file__).resolve().with_name("settings.env")
TIERS: tuple[tuple[str, type[BaseModel], str], ...] = (
    ("YAOHE_EDGE_", EdgeSettings, "The box"),
    ("YAOHE_CLOUD_", CloudSettings, "The cloud"),
    ("YAOHE_DISTILL_", DistillSettings, "The making of voices"),
)
HEAD = """\
# Every setting of Yaohe with its default. Uncomment what should differ, and keep it in
# `.env` of the working directory, in the environment, or in /etc/yaohe/edge.env.
# Made by deploy/settings_reference.py (`make format`); do not edit here.
"""
OF_THE_MACHINE = frozenset(
    {"YAOHE_CLOUD_ENGINE__THREADS", "YAOHE_DISTILL_JUDGE", "YAOHE_DISTILL_VOICES"}
)
"""Settings whose default is counted from the machine: none is written."""


def meanings(model: type[BaseModel]) -> dict[str, str]:
    """What a settings class says about its fields under ``Attributes:``."""
    _, _, listed = (model.__doc__ or "").partition("Attributes:")
    found = re.findall(r"^ {8}(\w+): (.*?)(?=^ {8}\w+: |\Z)", listed, re.M | re.S)
    return {name: " ".join(text.split()) for name, text in found}


def written(value: object) -> str:
    """A default as it stands in an environment file."""
    if value is None:
        return ""
    if isinstance(value, tuple):
        return json.dumps([str(item) for item in value])
    return str(value)


def lines(prefix: str, model: type[BaseModel]) -> Iterator[str]:
    """Each setting of a class: a comment, and its line commented out.

    Args:
        prefix: What stands before the names of its fields.
        model: The class.

    Yields:
        Lines without their ends.
    """
    said = meanings(model)
    plain_first = sorted(
        model.model_fields.items(),
        key=lambda item: isinstance(item[1].default, BaseModel),
    )
    for name, field in plain_first:
        variable = prefix + name.upper()
        default = field.default
        if isinstance(default, BaseModel):
            yield ""
            yield f"# -- {said[name]}"
            yield from lines(f"{variable}__", type(default))
            continue
        counted = field.default_factory is not None or variable in OF_THE_MACHINE
        yield f"# {said[name]}"
        yield f"#{variable}={'' if counted else written(default)}"


def reference() -> str:
    """The whole file."""
    text = HEAD
    for prefix, model, title in TIERS:
        text += "\n".join(["", f"# == {title}", "", *lines(prefix, model), ""])
    return text


if __name__ == "__main__":
    PLACE.write_text(reference(), encoding="utf-8")
