"""MQTT topics: one builder and one parser for every address in use.

A topic is an address and nothing more; all meaning is in the payload. Each class below
is one kind of address, ``SHAPE`` says how it looks; ``str()`` of an object is the topic
and :func:`parse` is the inverse. ``t1`` is the protocol's major version. A name holds
letters, digits and ``-._`` alone, so that no wildcard, slash, space or control
character can hide in it, and it serves as a file's and a certificate's name too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from common.errors import YaoheError, quoted

ROOT = "t1"
MAX_TOPIC_CHARACTERS = 512
MAX_NAME_CHARACTERS = 64
"""Of a chain, box, group, voice, dialect or role."""
MAX_NUMBER_DIGITS = 15
"""Of a version, chunk, shard or event; such numbers are exact in JSON too."""

ANY = "+"
"""MQTT's wildcard for one level; only :func:`subscription` takes it."""
EVERYONE = "all"
"""The scope of every box of a chain."""

_NAME = rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{MAX_NAME_CHARACTERS - 1}}}"
_NUMBER = rf"(?:0|[1-9][0-9]{{0,{MAX_NUMBER_DIGITS - 1}}})"
_PARTS = {
    "chain": _NAME,
    "box": _NAME,
    # The timestamp has an address of its own, without a version.
    "role": rf"(?!timestamp/){_NAME}",
    "scope": rf"(?:{EVERYONE}|g/{_NAME}|voice/{_NAME}/{_NAME})",
    "blob": r"[0-9a-f]{64}",
    **dict.fromkeys(("index", "number", "version", "shard"), _NUMBER),
}


@dataclass(frozen=True)
class Topic:
    """An address below a chain.

    Attributes:
        chain: The chain's name.
    """

    SHAPE: ClassVar[str] = ""

    chain: str

    def __str__(self) -> str:
        """The topic itself.

        Returns:
            Levels joined by slashes.

        Raises:
            YaoheError: ``invalid_request``: a part cannot stand in a topic.
        """
        parts = {part.name: str(getattr(self, part.name)) for part in fields(self)}
        topic = f"{ROOT}/{{chain}}/{self.SHAPE}".format(**parts)
        match = _PATTERNS[type(self)].fullmatch(topic)
        # Comparing the parts keeps a slash in one of them from moving the others.
        if match is None or match.groupdict() != parts:
            raise _refused(topic)
        return topic


@dataclass(frozen=True)
class Command(Topic):
    """To one box: a command."""

    SHAPE = "e/{box}/cmd"
    box: str


@dataclass(frozen=True)
class Inbox(Topic):
    """To one box: one chunk of a blob, named by its SHA-256 in hexadecimal."""

    SHAPE = "e/{box}/in/{blob}/{index}"
    box: str
    blob: str
    index: int


@dataclass(frozen=True)
class Birth(Topic):
    """From one box: it is up, or gone; also the address of its will."""

    SHAPE = "e/{box}/birth"
    box: str


@dataclass(frozen=True)
class State(Topic):
    """From one box: its health and counts."""

    SHAPE = "e/{box}/state"
    box: str


@dataclass(frozen=True)
class Event(Topic):
    """From one box: one numbered event."""

    SHAPE = "e/{box}/ev/{number}"
    box: str
    number: int


@dataclass(frozen=True)
class Timestamp(Topic):
    """To all: the newest signed timestamp."""

    SHAPE = "tuf/timestamp"


@dataclass(frozen=True)
class Metadata(Topic):
    """To all: one version of the signed metadata of any other role."""

    SHAPE = "tuf/{role}/{version}"
    role: str
    version: int


@dataclass(frozen=True)
class Job(Topic):
    """To a scope: a signed rollout job."""

    SHAPE = "job/{scope}"
    scope: str


@dataclass(frozen=True)
class Head(Topic):
    """To a scope: the signed head of its catalogue."""

    SHAPE = "cat/{scope}/head"
    scope: str


@dataclass(frozen=True)
class Log(Topic):
    """To a scope: changes of its catalogue."""

    SHAPE = "cat/{scope}/log"
    scope: str


@dataclass(frozen=True)
class Chunk(Topic):
    """To all who need it: one chunk of a blob."""

    SHAPE = "blob/{blob}/{index}"
    blob: str
    index: int


@dataclass(frozen=True)
class Need(Topic):
    """From one box: what it lacks; the shard spreads boxes over readers."""

    SHAPE = "need/{shard}/{box}"
    shard: int
    box: str


KINDS: tuple[type[Topic], ...] = (
    *(Command, Inbox, Birth, State, Event),
    *(Timestamp, Metadata, Job, Head, Log, Chunk, Need),
)
_GROUPS = {name: f"(?P<{name}>{form})" for name, form in _PARTS.items()}
_PATTERNS = {
    kind: re.compile(f"{ROOT}/{{chain}}/{kind.SHAPE}".format(**_GROUPS))
    for kind in KINDS
}
_LEVEL = re.compile(rf"{_NAME}|\{ANY}")


def group(name: str) -> str:
    """The scope of a group of boxes."""
    return f"g/{name}"


def voice(name: str, dialect: str) -> str:
    """The scope of all who have a voice in a dialect."""
    return f"voice/{name}/{dialect}"


def parse(topic: str) -> Topic:
    """Read a topic.

    Args:
        topic: Any string.

    Returns:
        The topic as an object of its kind.

    Raises:
        YaoheError: ``invalid_request``: the topic is none of ours.
    """
    if len(topic) <= MAX_TOPIC_CHARACTERS:
        for kind, form in _PATTERNS.items():
            if match := form.fullmatch(topic):
                parts: dict[str, Any] = match.groupdict()
                for part in fields(kind):
                    if part.type == "int":
                        parts[part.name] = int(parts[part.name])
                return kind(**parts)
    raise _refused(topic)


def subscription(*levels: str) -> str:
    """Write a topic filter.

    Args:
        levels: What follows the root, the chain first; each a name or :data:`ANY`.

    Returns:
        The filter.

    Raises:
        YaoheError: ``invalid_request``: a level is neither.
    """
    topic = "/".join((ROOT, *levels))
    if len(topic) > MAX_TOPIC_CHARACTERS or not all(map(_LEVEL.fullmatch, levels)):
        raise _refused(topic)
    return topic


def _refused(topic: str) -> YaoheError:
    """The error for an address that is none of ours."""
    reason = f"not a topic of this protocol: {quoted(topic)}"
    return YaoheError("invalid_request", reason)
