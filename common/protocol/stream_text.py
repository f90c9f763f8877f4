"""Text messages of ``/v1/stream`` into control messages.

Whatever arrives is a message of :mod:`common.protocol.stream` or a
:class:`~common.errors.YaoheError`; nothing else leaves this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import ValidationError

from common.complaint import complaint
from common.errors import YaoheError, quoted
from common.protocol.stream import (
    MAX_CONTROL_BYTES,
    MAX_TOLD_BYTES,
    ClientMessage,
    Message,
    ServerMessage,
    Start,
)
from common.protocol.synthesis import SpeechRequest, parse_long_speech

_M = TypeVar("_M", bound=Message)


def _by_type(kinds: Iterable[type[Message]]) -> Mapping[str, type[Message]]:
    return {kind.model_fields["type"].default: kind for kind in kinds}


_CLIENT = _by_type(get_args(ClientMessage))
_SERVER = _by_type(get_args(ServerMessage))


def parse_client(data: str) -> ClientMessage:
    """Read what a client sent.

    Args:
        data: One text message.

    Returns:
        The message; of ``start`` the speech request's fields are checked as well.

    Raises:
        YaoheError: ``invalid_request``, or for a ``start`` what its speech request is
            refused for.
    """
    values = _object(data, MAX_CONTROL_BYTES)
    message: Any = _parse(values, _CLIENT)
    if isinstance(message, Start):
        fields = SpeechRequest.model_fields.keys() | {"speaker"}
        speech = {name: values[name] for name in values.keys() & fields}
        # Without a text yet, one that is never spoken stands in.
        parse_long_speech(
            {**speech, "input": message.input or "-", "response_format": "pcm"}
        )
        message = message.model_copy(update={"speech": speech})
    return message  # type: ignore[no-any-return]


def stream_of(data: str | None) -> int | None:
    """The stream that a message names, even if nothing else in it is right.

    Args:
        data: One text message.

    Returns:
        Its number; None where it names none.
    """
    try:
        values = _object(data or "", MAX_CONTROL_BYTES)
        return Message.model_validate(values).stream if "stream" in values else None
    except (YaoheError, ValidationError):
        return None


def parse_server(data: str) -> ServerMessage:
    """Read what a server sent.

    Args:
        data: One text message.

    Returns:
        The message.

    Raises:
        YaoheError: ``invalid_request``.
    """
    message: Any = _parse(_object(data, MAX_TOLD_BYTES), _SERVER)
    return message  # type: ignore[no-any-return]


def _object(data: str, limit: int) -> Mapping[str, Any]:
    """The JSON object in a message."""
    if len(data.encode("utf-8", "surrogatepass")) > limit:
        raise _refused(f"longer than {limit} bytes")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise _refused("not JSON") from None
    if not isinstance(values, dict):
        raise _refused("not a JSON object")
    return values


def _parse(values: Mapping[str, Any], kinds: Mapping[str, type[_M]]) -> _M:
    name = values.get("type")
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise _refused(f"the type is {quoted(name)}; known are {', '.join(kinds)}")
    try:
        return kind.model_validate({**values, "speech": {}})
    except ValidationError as refusal:
        place, wrong = complaint(refusal)
        param = str(place[0]) if place else None
        raise _refused(f"{param}: {wrong}", param) from None


def _refused(reason: str, param: str | None = None) -> YaoheError:
    """The error for text that is no control message."""
    return YaoheError("invalid_request", f"not a stream message: {reason}", param=param)
