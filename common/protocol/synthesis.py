"""The speech request, the same on cloud and box, and its one validator.

Rules of this module:

* It answers what OpenAI's speech API documents; fields it does not know are ignored.
* OpenAI's own voice and model names are aliases of the defaults, resolved here, so
  that nothing behind the door knows them.
* A bad value is a :class:`~common.errors.YaoheError` with the field in ``param``. Which
  voices, dialects and models exist is the tier's knowledge and is checked there.
* Numbers and booleans may come as strings, since a GET query has nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from common.complaint import sentence
from common.errors import Code, YaoheError, quoted
from common.text.say_as import CONTEXTS
from common.text.symbols import DIALECTS

Tier = Literal["cache", "edge", "cloud", "last-resort"]
"""Who began to speak; the value of ``X-Yaohe-Tier``."""
TIERS: tuple[Tier, ...] = get_args(Tier)

Format = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
FORMATS: tuple[Format, ...] = get_args(Format)
StreamFormat = Literal["audio", "sse"]
OnUnreadable = Literal["fail", "skip"]
Fallback = Literal["none", "mandarin"]

DEFAULT_MODEL = "yaohe"
DEFAULT_VOICE = "woman"
DEFAULT_DIALECT = "zh"

MAX_INPUT_CHARACTERS = 4096
MAX_LONG_CHARACTERS = 20_000
"""The same for streams and jobs."""
MAX_NAME_CHARACTERS = 64
MAX_INSTRUCTIONS_CHARACTERS = 4096
MIN_SPEED, MAX_SPEED = 0.25, 4.0
MAX_PITCH_SEMITONES = 12.0
"""Largest shift of the whole request, up or down."""
MIN_VOLUME_DB, MAX_VOLUME_DB = -24.0, 12.0
MAX_SEED = 2**32 - 1
DRAWING_BOUNDS: Mapping[str, tuple[float, float]] = {
    "temperature": (0.0, 2.0),
    "top_p": (0.01, 1.0),
    "top_k": (1, 64),
    "repetition_penalty": (0.5, 2.0),
}
"""Least and most of what tells an engine how to draw."""
MAX_DEADLINE_MS = 600_000

MODEL_ALIASES = re.compile(r"tts-1(-hd)?(-\d+)?|gpt-[a-z0-9.-]{1,32}-tts(-[0-9-]+)?")
VOICE_ALIASES = frozenset(
    (
        *("alloy", "ash", "ballad", "cedar", "coral", "echo", "fable"),
        *("marin", "nova", "onyx", "sage", "shimmer", "verse"),
    )
)

_SURROGATE = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _join(pair: re.Match[str]) -> str:
    """The character that a pair of surrogates stands for."""
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def mended(text: str) -> str:
    """Make a string encodable: half a surrogate pair becomes U+FFFD.

    Clients cut emoji in half. U+FFFD is a character that nobody can read, so such a
    text fails as unreadable, with its receipt, and never inside an encoder.

    Args:
        text: Any string.

    Returns:
        The text with pairs joined and halves replaced.
    """
    if _SURROGATE.search(text) is None:
        return text
    return _SURROGATE.sub("\ufffd", _PAIR.sub(_join, text))


def _plain_number(value: object) -> object:
    """Refuse booleans, which Python takes for numbers."""
    if isinstance(value, bool):
        raise ValueError("a boolean is no number")
    return value


def _mended(value: object) -> object:
    """Mend strings before anything looks at them."""
    return mended(value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_mended)]
Number = Annotated[float, BeforeValidator(_plain_number)]
Integer = Annotated[int, BeforeValidator(_plain_number)]


def _bounded(name: str) -> Any:
    """The bounds of a parameter of drawing."""
    least, most = DRAWING_BOUNDS[name]
    return Field(ge=least, le=most)


class SpeechRequest(BaseModel):
    """What to say and how; build it with :func:`parse_speech`.

    Attributes:
        input: Text, 1 to ``MAX_INPUT_CHARACTERS`` characters, not blank.
        model: Model name with aliases resolved.
        voice: Logical voice with aliases resolved.
        response_format: Container or encoding of the answer.
        speed: Factor, ``MIN_SPEED`` to ``MAX_SPEED``.
        instructions: Kept for engines that take them.
        stream_format: Bytes of audio, or server-sent events.
        dialect: ``zh``, ``gd`` or ``sc``.
        seed: For engines that draw; None lets the engine choose.
        on_unreadable: Whether characters that nobody can read fail the call.
        fallback: Whether Mandarin may stand in for a dialect that is not there.
        deadline_ms: Milliseconds to first audio; None is the tier's default.
        receipt: Whether the reading receipt is wanted in the answer.
        pitch: Shift in semitones.
        volume: Gain in decibels.
        context: What ambiguous forms are about, such as ``price`` or ``date``; one of
            ``common.text.say_as.CONTEXTS``.
        ssml: Whether the input is marked up.
        temperature: For engines that draw, as the next three; None lets the engine
            choose. 0 takes the most probable always.
        top_p: Least probability that the kept codes have together.
        top_k: Most codes that are kept.
        repetition_penalty: Weakens codes that came before.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    input: Annotated[Text, Field(max_length=MAX_INPUT_CHARACTERS)]
    model: Annotated[Text, Field(max_length=MAX_NAME_CHARACTERS)] = DEFAULT_MODEL
    voice: Text = DEFAULT_VOICE
    response_format: Format = "mp3"
    speed: Annotated[Number, Field(ge=MIN_SPEED, le=MAX_SPEED)] = 1.0
    instructions: (
        Annotated[Text, Field(max_length=MAX_INSTRUCTIONS_CHARACTERS)] | None
    ) = None
    stream_format: StreamFormat = "audio"
    dialect: str = DEFAULT_DIALECT
    seed: Annotated[Integer, Field(ge=0, le=MAX_SEED)] | None = None
    on_unreadable: OnUnreadable = "fail"
    fallback: Fallback = "none"
    deadline_ms: Annotated[Integer, Field(ge=1, le=MAX_DEADLINE_MS)] | None = None
    receipt: bool = False
    pitch: Annotated[Number, Field(ge=-MAX_PITCH_SEMITONES, le=MAX_PITCH_SEMITONES)] = (
        0.0
    )
    volume: Annotated[Number, Field(ge=MIN_VOLUME_DB, le=MAX_VOLUME_DB)] = 0.0
    context: Annotated[Text, Field(max_length=MAX_NAME_CHARACTERS)] | None = None
    ssml: bool = False
    temperature: Annotated[Number, _bounded("temperature")] | None = None
    top_p: Annotated[Number, _bounded("top_p")] | None = None
    top_k: Annotated[Integer, _bounded("top_k")] | None = None
    repetition_penalty: Annotated[Number, _bounded("repetition_penalty")] | None = None

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, values: Any) -> Any:
        """Take null for absent, and ``speaker`` for ``dialect``."""
        given = {name: value for name, value in values.items() if value is not None}
        if "speaker" in given:
            given.setdefault("dialect", given["speaker"])
        return given

    @field_validator("voice", mode="before")
    @classmethod
    def _voice(cls, value: object) -> object:
        """Open ``{"id": ...}`` and resolve aliases."""
        if isinstance(value, Mapping):
            value = value.get("id")
        if isinstance(value, str) and value in VOICE_ALIASES:
            return DEFAULT_VOICE
        return value

    @field_validator("model")
    @classmethod
    def _model(cls, value: str) -> str:
        """Resolve aliases."""
        return DEFAULT_MODEL if MODEL_ALIASES.fullmatch(value) else value


class LongSpeechRequest(SpeechRequest):
    """A speech request of a stream or a job; build it with :func:`parse_long_speech`.

    Attributes:
        input: Text, 1 to ``MAX_LONG_CHARACTERS`` characters, not blank.
    """

    input: Annotated[Text, Field(max_length=MAX_LONG_CHARACTERS)]


_Request = TypeVar("_Request", bound=SpeechRequest)
_CODES_OF_VALUES: Mapping[str, Code] = {"response_format": "unsupported_format"}


def _translated(problem: Mapping[str, Any], values: Mapping[str, object]) -> YaoheError:
    """The error for pydantic's first complaint."""
    param = str(problem["loc"][0]) if problem["loc"] else None
    kind = str(problem["type"])
    if param == "dialect" and values.get("dialect") is None:
        param = "speaker"
    if kind == "missing":
        return YaoheError("invalid_request", f"{param} is missing", param=param)
    if param == "input" and kind in ("too_long", "string_too_long"):
        longest = problem["ctx"]["max_length"]
        return YaoheError(
            "input_too_long", f"input is longer than {longest} characters", param=param
        )
    value = values.get(param) if param else None
    code: Code = "invalid_request"
    if isinstance(value, str):
        code = _CODES_OF_VALUES.get(str(param), code)
    reason = sentence(problem)
    return YaoheError(code, f"{param} is {quoted(value)}: {reason}", param=param)


def parse_speech(values: object) -> SpeechRequest:
    """Validate a speech request.

    Args:
        values: The decoded JSON body, or the query of a GET; anything is accepted.

    Returns:
        The request, aliases resolved.

    Raises:
        YaoheError: ``invalid_request``, ``nothing_to_say``, ``input_too_long``,
            ``unknown_voice``, ``unknown_dialect`` or ``unsupported_format``.
    """
    return _parsed(values, SpeechRequest)


def parse_long_speech(values: object) -> LongSpeechRequest:
    """Validate the request of a stream or a job.

    Args:
        values: As for :func:`parse_speech`.

    Returns:
        The request, aliases resolved.

    Raises:
        YaoheError: As :func:`parse_speech`.
    """
    return _parsed(values, LongSpeechRequest)


def _parsed(values: object, kind: type[_Request]) -> _Request:
    """A request of a kind."""
    if not isinstance(values, Mapping):
        raise YaoheError("invalid_request", "the request is not a JSON object")
    try:
        request = kind.model_validate(dict(values))
    except ValidationError as refusal:
        problem = refusal.errors(include_url=False, include_input=False)[0]
        raise _translated(problem, values) from None
    if not request.input.strip():
        raise YaoheError("nothing_to_say", "input is blank", param="input")
    if request.dialect not in DIALECTS:
        spelled = "dialect" if values.get("dialect") is not None else "speaker"
        raise unknown_dialect(request.dialect, param=spelled)
    if len(request.voice) > MAX_NAME_CHARACTERS or not _NAME.fullmatch(request.voice):
        raise unknown_voice(request.voice)
    require_context(request.context)
    return request


def require_context(context: str | None) -> None:
    """Refuse a hint that would not be understood: a misspelt one helps nobody.

    Args:
        context: The hint; None or empty for none.

    Raises:
        YaoheError: ``invalid_request``.
    """
    if context and context not in CONTEXTS:
        raise YaoheError(
            "invalid_request",
            f"no context named {quoted(context)}; known are "
            f"{', '.join(sorted(CONTEXTS))}",
            param="context",
        )


def unknown_voice(voice: str) -> YaoheError:
    """The error for a voice that the tier does not have."""
    return YaoheError("unknown_voice", f"no voice named {quoted(voice)}", param="voice")


def unknown_dialect(dialect: str, *, param: str = "dialect") -> YaoheError:
    """The error for a dialect that nobody here reads."""
    return YaoheError(
        "unknown_dialect",
        f"no dialect named {quoted(dialect)}; known are {', '.join(DIALECTS)}",
        param=param,
    )


def unknown_model(model: str) -> YaoheError:
    """The error for a model that the tier does not have."""
    return YaoheError("not_found", f"no model named {quoted(model)}", param="model")
