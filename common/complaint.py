"""What is wrong with a value, in one plain sentence instead of the validator's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

OTHER = "it is not a value that can stand here"
"""Said of what has no sentence of its own."""

_SENTENCES: Mapping[str, str] = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such name",
    "int_type": "it must be a whole number",
    "int_parsing": "it must be a whole number",
    "int_parsing_size": "it must be a smaller whole number",
    "int_from_float": "it must be a whole number",
    "float_type": "it must be a number",
    "float_parsing": "it must be a number",
    "finite_number": "it must be a finite number",
    "bool_type": "it must be true or false",
    "bool_parsing": "it must be true or false",
    "string_type": "it must be a string",
    "string_unicode": "it must be a string of whole characters",
    "bytes_type": "it must be bytes",
    "list_type": "it must be a list",
    "tuple_type": "it must be a list",
    "dict_type": "it must be an object",
    "model_type": "it must be an object",
    "model_attributes_type": "it must be an object",
    "path_type": "it must be a path",
    "json_invalid": "it must be JSON",
    "literal_error": "it must be {expected}",
    "greater_than": "it must be more than {gt}",
    "greater_than_equal": "it must be at least {ge}",
    "less_than": "it must be less than {lt}",
    "less_than_equal": "it must be at most {le}",
    "string_too_short": "it must have at least {min_length} characters",
    "string_too_long": "it must have at most {max_length} characters",
    "too_short": "it must have at least {min_length} parts",
    "too_long": "it must have at most {max_length} parts",
    "string_pattern_mismatch": "it must look like {pattern}",
    "value_error": "{error}",
}


def complaint(refusal: ValidationError) -> tuple[tuple[int | str, ...], str]:
    """The first thing that a validator did not take.

    Args:
        refusal: What it raised.

    Returns:
        Where it stands, and what is wrong with it: ``it must be a whole number``. Never
        the value itself, which may be huge or secret.
    """
    problem = refusal.errors(include_url=False, include_input=False)[0]
    return problem["loc"], sentence(problem)


def sentence(problem: Mapping[str, Any]) -> str:
    """Say what is wrong.

    Args:
        problem: One entry of a validator's errors.

    Returns:
        Words without a full stop.
    """
    known = _SENTENCES.get(str(problem.get("type")), OTHER)
    context = problem.get("ctx") or {}
    try:
        return known.format_map(context)
    except (KeyError, ValueError):
        return OTHER
