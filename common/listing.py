"""What a client may choose from: the bodies of the model and voice lists.

Box and cloud answer alike, so that a client moves by changing one host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MODEL = "yaohe"
"""The one model; every other model name is an alias of it."""


def models_body(created: int = 0) -> dict[str, Any]:
    """The answer to ``GET /v1/models``.

    Args:
        created: Unix time of the model, seconds.

    Returns:
        A list in the shape that the OpenAI API documents.
    """
    return {
        "object": "list",
        "data": [model_body(MODEL, created)],
    }


def model_body(name: str, created: int = 0) -> dict[str, Any]:
    """One model as the OpenAI API shows it.

    Args:
        name: The model's name.
        created: Unix time of the model, seconds.

    Returns:
        The model object.
    """
    return {"id": name, "object": "model", "created": created, "owned_by": "yaohe"}


def voices_body(repertoire: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """The answer to ``GET /v1/audio/voices``.

    Args:
        repertoire: Names that can be asked for here, the default first, and the
            dialects that each speaks.

    Returns:
        One object per voice.
    """
    return {
        "object": "list",
        "data": [
            {"id": voice, "object": "voice", "name": voice, "dialects": list(dialects)}
            for voice, dialects in repertoire.items()
        ],
    }
