"""The control messages of ``/v1/stream``: one JSON object in each text message.

    client   start  text  flush  end  cancel   resume  ack
    server   started  receipt  spoken  end  error   resumed

A socket carries several streams; the client numbers them. ``start`` names the voice
and the codec, and brings the whole ``input`` or leaves it to ``text`` messages. Audio
comes in binary messages, :mod:`common.protocol.frames`.

Rules of this module:

* A stream is cut into *segments*, one synthesis each. ``receipt`` comes before the
  first frame of one and ``spoken`` after its last; with Opus every segment is a new
  Opus stream (its first frame is flagged ``DISCONTINUITY``, ``pre_skip`` is how much of
  its beginning is dropped, ``samples`` how much is heard).
* ``ack`` and ``resume`` count frames: all before ``seq`` have arrived.
* Fields that nobody knows are ignored; :mod:`common.protocol.stream_text` reads them.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError
from common.protocol.frames import MAX_SEQ, MAX_STREAM
from common.protocol.synthesis import (
    MAX_INPUT_CHARACTERS,
    SpeechRequest,
    Text,
    Tier,
    parse_long_speech,
)

PROTOCOL_VERSION = 1
MAX_CONTROL_BYTES = 256 * 1024
"""Longest message of a client; the longest text in escaped JSON fits."""
MAX_TOLD_BYTES = 8 * 1024 * 1024
"""Longest message of a server; the receipt of the longest text fits."""
MIN_STREAM_BITRATE, MAX_STREAM_BITRATE = 24_000, 64_000
"""Bits per second that a client may fix."""
TOKEN_BYTES = 16
"""Chance in a token that resumes a stream."""

Audio = Literal["opus", "pcm"]


def _whole_number(value: object) -> object:
    """Refuse booleans, which Python takes for numbers."""
    if isinstance(value, bool):
        raise ValueError("a boolean is no number")
    return value


Stream = Annotated[int, BeforeValidator(_whole_number), Field(ge=0, le=MAX_STREAM)]
Seq = Annotated[int, BeforeValidator(_whole_number), Field(ge=0, le=MAX_SEQ)]
Count = Annotated[int, BeforeValidator(_whole_number), Field(ge=0)]
Token = Annotated[str, Field(pattern=rf"^[0-9a-f]{{{2 * TOKEN_BYTES}}}$")]
Utterance = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
Bitrate = Annotated[
    int,
    BeforeValidator(_whole_number),
    Field(ge=MIN_STREAM_BITRATE, le=MAX_STREAM_BITRATE),
]


class Message(BaseModel):
    """One control message.

    Attributes:
        stream: The stream it is about.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    stream: Stream = 0

    def dumps(self) -> str:
        """The message as it is sent."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False)


class Start(Message):
    """Open a stream; every field of a speech request may stand beside these.

    Attributes:
        codec: How sound is to come.
        bitrate: Bits per second of Opus; None lets the round trip choose.
        input: All of the text; None where ``text`` messages bring it.
        utterance: Id of the only segment; heeded by a server that trusts its client.
        pauses: Whether ``receipt`` shall say where clauses end.
        speech: The speech request's fields.
    """

    type: Literal["start"] = "start"
    codec: Audio = "opus"
    bitrate: Bitrate | None = None
    input: Text | None = None
    utterance: Utterance | None = None
    pauses: bool = False
    speech: dict[str, Any] = Field(default_factory=dict, exclude=True)

    def request(self, text: str) -> SpeechRequest:
        """The speech request for a part of the text.

        Args:
            text: What to say.

        Returns:
            The request.

        Raises:
            YaoheError: As :func:`common.protocol.synthesis.parse_long_speech`.
        """
        style = {"input": text, "response_format": self.codec}
        return parse_long_speech({**self.speech, **style})


class AddText(Message):
    """Bring more text; what makes whole sentences is spoken at once."""

    type: Literal["text"] = "text"
    text: Annotated[Text, Field(max_length=MAX_INPUT_CHARACTERS)]


class Flush(Message):
    """Speak all text that has come, as if a sentence ended here."""

    type: Literal["flush"] = "flush"


class End(Message):
    """Say that no more text comes."""

    type: Literal["end"] = "end"


class Cancel(Message):
    """Stop speaking now."""

    type: Literal["cancel"] = "cancel"


class Resume(Message):
    """Go on with a stream of a socket that broke.

    Attributes:
        token: What ``started`` gave.
        seq: The first frame that is wanted.
    """

    type: Literal["resume"] = "resume"
    token: Token
    seq: Seq


class Ack(Message):
    """Say what has arrived.

    Attributes:
        seq: All frames before this one have.
    """

    type: Literal["ack"] = "ack"
    seq: Seq


class Started(Message):
    """A stream is open.

    Attributes:
        token: Resumes it from another socket.
        codec: How sound comes.
        sample_rate: Samples per second.
        grace_ms: How long it waits for its client after the socket broke.
        held_bytes: It pauses when so much is unacknowledged.
        protocol: Version of these messages.
    """

    type: Literal["started"] = "started"
    token: Token
    codec: Audio
    sample_rate: Count = SAMPLE_RATE
    grace_ms: Count
    held_bytes: Count
    protocol: Count = PROTOCOL_VERSION


class Resumed(Message):
    """A stream goes on.

    Attributes:
        seq: The frame that comes next.
    """

    type: Literal["resumed"] = "resumed"
    seq: Seq


class Told(Message):
    """A segment begins.

    Attributes:
        segment: Its number, from 0.
        seq: Its first frame.
        timestamp: That frame's timestamp.
        pre_skip: Ticks of 1/48,000 s to drop from its beginning.
        utterance: Its id.
        text: What was asked.
        tier: Who speaks.
        reason: Why.
        substituted: What stands in for what was asked.
        enforced: Whether the engine keeps to the reading.
        surface: The reading, one entry a syllable.
        provenance: The comments that a file would carry, by name.
        receipt: The whole receipt, where it was asked for.
        pauses: Where clauses end: pairs of the number of symbols before it and of
            samples before it in the segment; None where the engine does not know.
    """

    type: Literal["receipt"] = "receipt"
    segment: Count
    seq: Seq
    timestamp: Count
    pre_skip: Count = 0
    utterance: Utterance
    text: str
    tier: Tier
    reason: str = ""
    substituted: str | None = None
    enforced: bool
    surface: tuple[str, ...]
    provenance: dict[str, str] = Field(default_factory=dict)
    receipt: dict[str, Any] | None = None
    pauses: tuple[tuple[Count, Count], ...] | None = None


class Spoken(Message):
    """A segment has ended.

    Attributes:
        segment: Its number.
        samples: How many of its samples are heard, after ``pre_skip``.
        tiers: Who spoke, in order; more than one where the box took over.
        notes: What happened on the way, for people.
    """

    type: Literal["spoken"] = "spoken"
    segment: Count
    samples: Count
    tiers: tuple[Tier, ...]
    notes: tuple[str, ...] = ()


class Ended(Message):
    """Everything has been said; nothing follows.

    Attributes:
        frames: Frames in the stream, the last one included.
        segments: Segments.
        samples: Samples that are heard, of all segments.
        duration_ms: Their length.
        tiers: Everyone who spoke, in order of appearance.
        substituted: What stood in for what was asked, if anything did.
        cancelled: Whether the client stopped it.
        notes: What happened on the way, for people.
    """

    type: Literal["end"] = "end"
    frames: Count
    segments: Count
    samples: Count
    duration_ms: Count
    tiers: tuple[Tier, ...]
    substituted: str | None = None
    cancelled: bool = False
    notes: tuple[str, ...] = ()


class Failed(Message):
    """Something is wrong.

    Attributes:
        stream: The stream that ends with it; None where it ends none.
        refused: The stream that a refused message was about, if it said so.
        error: ``message``, ``type``, ``param``, ``code`` and what else is known.
    """

    type: Literal["error"] = "error"
    stream: Stream | None = None  # type: ignore[assignment]
    refused: Stream | None = None
    error: dict[str, Any]

    @classmethod
    def of(
        cls, error: YaoheError, stream: int | None, refused: int | None = None
    ) -> Failed:
        """The message for an error.

        Args:
            error: What is wrong.
            stream: The stream that ends with it.
            refused: The stream that a refused message was about.
        """
        body = error.as_body()["error"]
        return cls(stream=stream, refused=refused, error=body)

    def raised(self) -> YaoheError:
        """The error that the server meant."""
        return YaoheError.from_body({"error": self.error}, 500)


ClientMessage = Start | AddText | Flush | End | Cancel | Resume | Ack
ServerMessage = Started | Resumed | Told | Spoken | Ended | Failed
