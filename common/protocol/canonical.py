"""JSON that is signed or hashed: one reading and one spelling.

Readers of JSON disagree on names that stand twice, on NaN and on half surrogate pairs.
What is signed must mean one thing, so all of these are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from common.errors import Code, YaoheError


def strict_object(data: bytes, *, limit: int, code: Code) -> dict[str, Any]:
    """Read one JSON object.

    Args:
        data: Any bytes.
        limit: Most bytes that are read.
        code: The error's code.

    Returns:
        The object.

    Raises:
        YaoheError: ``code``: too long, no UTF-8, no JSON, no object, a name that
            stands twice, or a number without value.
    """
    if len(data) > limit:
        raise YaoheError(code, f"{len(data)} bytes of JSON, at most {limit}")
    try:
        text = data.decode()
        values = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise YaoheError(code, f"no JSON: {error}") from None
    if not isinstance(values, dict):
        raise YaoheError(code, "not a JSON object")
    return values


def canonical_bytes(values: Mapping[str, Any], *, code: Code) -> bytes:
    """Write an object in its one spelling.

    Args:
        values: A JSON object.
        code: The error's code.

    Returns:
        UTF-8, names sorted by code point, no whitespace.

    Raises:
        YaoheError: ``code``: a value has no spelling in JSON.
    """
    try:
        text = json.dumps(
            values,
            ensure_ascii=False,
            allow_nan=False,
            sort_keys=True,
            separators=(",", ":"),
        )
        return text.encode()
    except (ValueError, TypeError, RecursionError) as error:
        raise YaoheError(code, f"no canonical form: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse names that stand twice."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name stands twice")
    return values


def _no_number(text: str) -> NoReturn:
    """Refuse NaN and infinities, which JSON does not have."""
    raise ValueError(f"{text} is no number")
