"""Messages as CBOR: one codec for everything binary that crosses MQTT.

Rules of this module:

* A message is one pydantic model with ``v``; fields nobody knows are ignored, a version
  nobody knows is refused.
* One message has one spelling, deterministic CBOR; any other spelling is refused.
* Only maps with text keys, arrays, text, bytes, integers, booleans and null exist here.
  Tags, floats and indefinite lengths are refused before a decoder sees them, since
  decoders turn tags into regular expressions, dates and shared references.
* Any bytes give a message or ``invalid_request``.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import cbor2
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from common.complaint import complaint
from common.errors import YaoheError

MESSAGE_VERSION = 1
MAX_DEPTH = 8
"""Arrays and maps inside each other."""

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _SIMPLE = range(8)
_FALSE, _TRUE, _NULL = 20, 21, 22


class Message(BaseModel):
    """What every message has.

    Attributes:
        v: Version of the message's form.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    MAX_BYTES: ClassVar[int] = 64 * 1024
    """Longest encoding that is read."""

    v: int = MESSAGE_VERSION

    @field_validator("v")
    @classmethod
    def _known(cls, value: int) -> int:
        """Refuse versions of the future."""
        if value != MESSAGE_VERSION:
            raise ValueError(f"version {value}, known is {MESSAGE_VERSION}")
        return value


M = TypeVar("M", bound=Message)


def dumps(value: object) -> bytes:
    """Write plain values as deterministic CBOR.

    Args:
        value: Maps with text keys, arrays, text, bytes, integers, booleans and None.

    Returns:
        The encoding.
    """
    return cbor2.dumps(value, canonical=True)


def encode(message: Message) -> bytes:
    """Write a message.

    Args:
        message: Any message.

    Returns:
        Its encoding; fields that are None are left out.
    """
    return dumps(message.model_dump(exclude_none=True))


def decode(kind: type[M], data: bytes) -> M:
    """Read a message.

    Args:
        kind: What it should be.
        data: Any bytes.

    Returns:
        The message.

    Raises:
        YaoheError: ``invalid_request``: the bytes are no such message.
    """
    values = loads(data, limit=kind.MAX_BYTES)
    try:
        return kind.model_validate(values)
    except ValidationError as refusal:
        place, wrong = complaint(refusal)
        where = ".".join(str(part) for part in place)
        raise _refused(f"{kind.__name__} {where}: {wrong}") from None


def loads(data: bytes, *, limit: int) -> Any:
    """Read plain values from deterministic CBOR.

    Args:
        data: Any bytes.
        limit: Most bytes that are read.

    Returns:
        The value.

    Raises:
        YaoheError: ``invalid_request``: longer than the limit, or not in the one
            spelling this module allows.
    """
    if len(data) > limit:
        raise _refused(f"{len(data)} bytes, at most {limit}")
    if _end_of_item(data, 0, 0) != len(data):
        raise _refused("bytes after the end")
    try:
        value = cbor2.loads(data)
        again = dumps(value)
    except (cbor2.CBORError, ValueError, TypeError) as error:
        raise _refused(type(error).__name__) from None
    if again != data:
        raise _refused("another spelling than the deterministic one")
    return value


def _end_of_item(data: bytes, at: int, depth: int) -> int:
    """Where the item that starts at ``at`` ends; refuses what is not allowed."""
    if depth > MAX_DEPTH:
        raise _refused(f"deeper than {MAX_DEPTH}")
    major, count, at = _head(data, at)
    if major in (_UNSIGNED, _NEGATIVE):
        return at
    if major in (_BYTES, _TEXT):
        if count > len(data) - at:
            raise _refused("cut short")
        return at + count
    if major in (_ARRAY, _MAP):
        # Every member takes a byte, so a forged count ends at the end of the data.
        for _ in range(count):
            if major == _MAP:
                if _head(data, at)[0] != _TEXT:
                    raise _refused("a key that is not text")
                at = _end_of_item(data, at, depth + 1)
            at = _end_of_item(data, at, depth + 1)
        return at
    if major == _SIMPLE and count in (_FALSE, _TRUE, _NULL):
        return at
    raise _refused("a tag, a float or an unknown simple value")


def _head(data: bytes, at: int) -> tuple[int, int, int]:
    """Major type and argument of the item at ``at``, and where its content starts."""
    if at >= len(data):
        raise _refused("cut short")
    major, argument = data[at] >> 5, data[at] & 31
    at += 1
    if argument < 24:
        return major, argument, at
    if argument > 27 or major == _SIMPLE:
        raise _refused("an indefinite length, a float or an unknown simple value")
    size = 1 << (argument - 24)
    if size > len(data) - at:
        raise _refused("cut short")
    return major, int.from_bytes(data[at : at + size], "big"), at + size


def _refused(reason: str) -> YaoheError:
    """The error for bytes that are no message."""
    return YaoheError("invalid_request", f"not a message: {reason}")
