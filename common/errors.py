"""The one error that leaves any module: a stable code, its HTTP status, its body.

Everything that a caller can do something about is a :class:`YaoheError`. The same code
stands in HTTP answers, WebSocket control messages, MQTT reports and logs:

    YaoheError
    ├── the request    invalid_request nothing_to_say input_too_long unreadable_text
    │                  unknown_voice unknown_dialect unsupported_format
    │                  not_found method_not_allowed
    ├── the caller     unauthorized quota_exceeded
    ├── capacity       queue_full deadline_exceeded voice_unavailable not_ready
    ├── packs          pack_invalid
    └── ourselves      internal_error

Codes are only ever added; ``tests/contract`` holds the table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, cast

Code = Literal[
    "invalid_request",
    "nothing_to_say",
    "input_too_long",
    "unreadable_text",
    "unknown_voice",
    "unknown_dialect",
    "unsupported_format",
    "voice_unavailable",
    "queue_full",
    "deadline_exceeded",
    "unauthorized",
    "quota_exceeded",
    "pack_invalid",
    "not_found",
    "internal_error",
    "not_ready",
    "method_not_allowed",
]


class Meaning(NamedTuple):
    """What a code means over HTTP.

    Attributes:
        status: HTTP status.
        type: Error type as existing speech clients know it.
    """

    status: int
    type: str


CODES: Mapping[Code, Meaning] = {
    "invalid_request": Meaning(400, "invalid_request_error"),
    "nothing_to_say": Meaning(400, "invalid_request_error"),
    "input_too_long": Meaning(400, "invalid_request_error"),
    "unreadable_text": Meaning(422, "invalid_request_error"),
    "unknown_voice": Meaning(404, "invalid_request_error"),
    "unknown_dialect": Meaning(404, "invalid_request_error"),
    "unsupported_format": Meaning(400, "invalid_request_error"),
    "voice_unavailable": Meaning(503, "server_error"),
    "queue_full": Meaning(429, "rate_limit_error"),
    "deadline_exceeded": Meaning(504, "server_error"),
    "unauthorized": Meaning(401, "authentication_error"),
    "quota_exceeded": Meaning(429, "insufficient_quota"),
    "pack_invalid": Meaning(422, "invalid_request_error"),
    "not_found": Meaning(404, "invalid_request_error"),
    "internal_error": Meaning(500, "server_error"),
    "not_ready": Meaning(503, "server_error"),
    "method_not_allowed": Meaning(405, "invalid_request_error"),
}

MAX_QUOTED = 64
"""Characters of a caller's value that a message repeats at most."""


def quoted(value: object) -> str:
    """Repeat a caller's value in a message, shortened and always encodable.

    Args:
        value: Anything that came in.

    Returns:
        A string in ASCII, at most ``MAX_QUOTED`` characters and an ellipsis; of any
        other value the type's name alone, since it may be deep or huge.
    """
    if not isinstance(value, str):
        return f"a value of type {type(value).__name__}"
    text = ascii(value[:MAX_QUOTED])
    return text if len(value) <= MAX_QUOTED else text + "..."


class YaoheError(Exception):
    """A failure with a stable code.

    Attributes:
        code: One of :data:`CODES`.
        message: One clear sentence for a person.
        param: The field at fault, if one is.
        retry_after_s: Seconds after which another try may succeed.
        data: More facts as plain JSON, such as the receipt of an unreadable text.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        param: str | None = None,
        retry_after_s: int | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Build the error; see the class for the fields."""
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.param = param
        self.retry_after_s = retry_after_s
        self.data = data

    def __reduce__(self) -> tuple[Callable[[], YaoheError], tuple[()]]:
        """Cross into another process whole: its fields are given by name."""
        return (
            partial(
                type(self),
                self.code,
                self.message,
                param=self.param,
                retry_after_s=self.retry_after_s,
                data=self.data,
            ),
            (),
        )

    def __repr__(self) -> str:
        """Code and message, for logs."""
        return f"YaoheError({self.code!r}, {self.message!r})"

    @property
    def status(self) -> int:
        """HTTP status of the code."""
        return CODES[self.code].status

    @property
    def type(self) -> str:
        """Error type of the code."""
        return CODES[self.code].type

    @property
    def headers(self) -> dict[str, str]:
        """HTTP headers that belong to the error."""
        headers: dict[str, str] = {}
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(self.retry_after_s)
        if self.code == "unauthorized":
            headers["WWW-Authenticate"] = "Bearer"
        return headers

    def as_body(self) -> dict[str, Any]:
        """The error as plain JSON.

        Returns:
            ``{"error": {"message", "type", "param", "code"}}``, and inside it
            ``retry_after_s`` and ``data`` where they are known.
        """
        error: dict[str, Any] = {
            "message": self.message,
            "type": self.type,
            "param": self.param,
            "code": self.code,
        }
        if self.retry_after_s is not None:
            error["retry_after_s"] = self.retry_after_s
        if self.data is not None:
            error["data"] = dict(self.data)
        return {"error": error}

    @classmethod
    def from_body(cls, body: object, status: int) -> YaoheError:
        """Rebuild an error that the other tier answered.

        Args:
            body: What its JSON body decoded to; anything is accepted.
            status: The HTTP status it came with.

        Returns:
            The same error, or the nearest code for a body that is not ours.
        """
        error = body.get("error") if isinstance(body, Mapping) else None
        fields: Mapping[str, Any] = error if isinstance(error, Mapping) else {}
        code, message, param = (fields.get(k) for k in ("code", "message", "param"))
        retry, data = fields.get("retry_after_s"), fields.get("data")
        return cls(
            cast(Code, code) if code in _NAMES else _nearest(status),
            message if isinstance(message, str) else f"answered status {status}",
            param=param if isinstance(param, str) else None,
            retry_after_s=retry if type(retry) is int else None,
            data=data if isinstance(data, Mapping) else None,
        )


_NAMES = tuple(CODES)
_BY_STATUS: Mapping[int, Code] = {
    401: "unauthorized",
    403: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    429: "queue_full",
    503: "not_ready",
    504: "deadline_exceeded",
}


def _nearest(status: int) -> Code:
    """The code for a status that came without one of ours."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    return "invalid_request" if 400 <= status < 500 else "internal_error"
