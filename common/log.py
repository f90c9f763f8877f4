"""Structured logging: one line an event, as JSON or as plain text.

Modules log through ``logging.getLogger(__name__)`` and pass facts with ``extra``. The
utterance that is being worked on is a context variable, so that every line about it
carries its id without being told.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, Any, Literal

Form = Literal["plain", "json"]

MAX_MESSAGE_CHARACTERS = 4000
"""Longer messages are cut, so that a client's text cannot flood a disk."""

_utterance: ContextVar[str | None] = ContextVar("utterance", default=None)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "color_message",
}


@contextmanager
def about(utterance: str) -> Iterator[None]:
    """Mark every line that is logged inside with an utterance.

    Args:
        utterance: Its id.

    Yields:
        Nothing.
    """
    token = _utterance.set(utterance)
    try:
        yield
    finally:
        _utterance.reset(token)


def _facts(record: logging.LogRecord) -> dict[str, Any]:
    """What was passed with ``extra``, and the utterance."""
    facts = {name: v for name, v in vars(record).items() if name not in _STANDARD}
    utterance = _utterance.get()
    if utterance is not None:
        facts.setdefault("utterance", utterance)
    return facts


def _one_line(text: str) -> str:
    """Cut and escape a text so that it cannot forge another line."""
    if len(text) > MAX_MESSAGE_CHARACTERS:
        text = text[:MAX_MESSAGE_CHARACTERS] + "..."
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )


class JsonFormatter(logging.Formatter):
    """One JSON object a line, in ASCII, whatever was logged."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one event.

        Args:
            record: The event.

        Returns:
            A line without its end.
        """
        event: dict[str, Any] = {
            "time": round(record.created, 3),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:MAX_MESSAGE_CHARACTERS],
            **_facts(record),
        }
        if record.exc_info:
            event["exception"] = self.formatException(record.exc_info)
        return json.dumps(event, default=str)


class PlainFormatter(logging.Formatter):
    """One line for a person; a traceback follows on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Write one event.

        Args:
            record: The event.

        Returns:
            A line without its end.
        """
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created))
        parts = [when, record.levelname.lower(), record.name]
        parts.append(_one_line(record.getMessage()))
        parts += [f"{name}={_one_line(str(v))}" for name, v in _facts(record).items()]
        line = " ".join(parts)
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


_CHATTY = ("httpcore", "httpx", "tuf")
"""Libraries that log at info what is no news: each call of ours, each key of several
that did not sign."""


def set_up(
    level: str = "info", form: Form = "plain", stream: IO[str] | None = None
) -> None:
    """Send all logging to one stream; called once, by a command line.

    Args:
        level: Least level that is written, such as ``info``.
        form: Plain text or JSON.
        stream: Where to; standard error by default.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else PlainFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for chatty in _CHATTY:
        logging.getLogger(chatty).setLevel(max(root.level, logging.WARNING))
