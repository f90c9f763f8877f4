"""The box's way to a cloud: ``WS /v1/stream`` for speech, a slow probe for its state.

Rules: a call has until its deadline for the first sound, then it is cancelled; what a
cloud cannot say tells nothing about its health, what it does not answer does.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from urllib.parse import urlsplit, urlunsplit

import httpx

from common.audio.provenance import Provenance
from common.errors import Code, YaoheError
from common.protocol.stream import Start, Told
from common.protocol.synthesis import SpeechRequest
from common.speech import Pauses, Speech
from common.text.receipt import Reading, Receipt, Span, Unread
from edge.breaker import Breaker
from edge.cloud_socket import CloudSocket
from edge.cloud_sound import CloudSound

PROBE_S = 15.0
"""Seconds between probes."""
PROBE_TIMEOUT_S = 5.0
UNWELL: frozenset[Code] = frozenset(
    ("deadline_exceeded", "internal_error", "not_ready", "queue_full")
)
"""Answers that speak against the cloud's health."""
MAX_VOICES = 256
"""Voices of a cloud that a box remembers."""

log = logging.getLogger(__name__)


class CloudClient:
    """A cloud, as the policy sees it."""

    def __init__(
        self, url: str, *, probe_s: float = PROBE_S, breaker: Breaker | None = None
    ) -> None:
        """Prepare; :meth:`start` connects.

        Args:
            url: The cloud's address, ``http://host:port`` or ``https://…``.
            probe_s: Seconds between probes.
            breaker: Decides whether it is worth asking.

        Raises:
            YaoheError: ``invalid_request`` for what is no such address.
        """
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise YaoheError(
                "invalid_request", f"the cloud's address {url!r} is not http(s)://host"
            )
        self.url = url.rstrip("/")
        self.breaker = breaker or Breaker()
        scheme = "wss" if parts.scheme == "https" else "ws"
        path = parts.path.rstrip("/") + "/v1/stream"
        self._socket = CloudSocket(urlunsplit((scheme, parts.netloc, path, "", "")))
        self._probe_s = probe_s
        self._repertoire: dict[str, tuple[str, ...]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def is_up(self) -> bool:
        """Whether it is worth asking now."""
        return self._socket.is_connected and self.breaker.is_closed

    @property
    def is_connected(self) -> bool:
        """Whether it is at the other end."""
        return self._socket.is_connected

    @property
    def repertoire(self) -> Mapping[str, Sequence[str]]:
        """Voices that the cloud has, as last heard, and their dialects."""
        return self._repertoire

    def start(self) -> None:
        """Connect and probe; needs a running loop."""
        self._socket.start()
        self._task = asyncio.create_task(self._probe_on())

    async def stop(self) -> None:
        """Hang up."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._socket.stop()

    async def speak(
        self, request: SpeechRequest, utterance: str, deadline_s: float
    ) -> Speech:
        """Let the cloud begin to speak.

        Args:
            request: What to say.
            utterance: Its id.
            deadline_s: Seconds within which first audio is worth having.

        Returns:
            Speech of tier ``cloud`` whose first chunk has arrived.

        Raises:
            YaoheError: It cannot, or not in time.
        """
        sound = CloudSound(self._socket.call(_start(request, utterance, deadline_s)))
        try:
            told = await asyncio.wait_for(sound.begin(), deadline_s)
            receipt = Receipt(utterance, _reading(told), told.enforced)
        except asyncio.TimeoutError:
            await sound.aclose()
            self.breaker.failed()
            raise YaoheError(
                "deadline_exceeded", "no sound from the cloud within the deadline"
            ) from None
        except YaoheError as error:
            await sound.aclose()
            if error.code in UNWELL:
                self.breaker.failed()
            raise
        except BaseException:
            await sound.aclose()
            raise
        self.breaker.succeeded()
        return Speech(
            utterance,
            receipt,
            tier="cloud",
            reason=told.reason,
            provenance=Provenance.from_comments(told.provenance.items())
            or Provenance("unknown"),
            chunks=sound,
            substituted=told.substituted,
            pauses=_pauses(told),
        )

    async def _probe_on(self) -> None:
        async with httpx.AsyncClient(timeout=PROBE_TIMEOUT_S, trust_env=False) as http:
            while True:
                try:
                    await self._probe(http)
                    self.breaker.succeeded()
                except (httpx.HTTPError, ValueError) as error:
                    self.breaker.failed()
                    log.debug("the cloud does not answer: %s", error)
                spread = random.uniform(0.8, 1.2)  # noqa: S311 - spreads shops in time
                is_known = bool(self._repertoire)
                await asyncio.sleep((self._probe_s if is_known else 1.0) * spread)

    async def _probe(self, http: httpx.AsyncClient) -> None:
        """Ask whether it can speak, and whose voices it has."""
        (await http.get(f"{self.url}/readyz")).raise_for_status()
        answer = (await http.get(f"{self.url}/v1/audio/voices")).raise_for_status()
        listed = answer.json()
        rows = listed.get("data") if isinstance(listed, dict) else None
        found = {}
        for row in rows[:MAX_VOICES] if isinstance(rows, list) else ():
            name, dialects = row.get("id"), row.get("dialects")
            if isinstance(name, str) and isinstance(dialects, list):
                found[name] = tuple(d for d in dialects if isinstance(d, str))
        self._repertoire = found


def _start(
    request: SpeechRequest, utterance: str, deadline_s: float
) -> dict[str, object]:
    """The fields of the message that asks the cloud."""
    opening = Start(input=request.input, utterance=utterance, codec="opus", pauses=True)
    style = request.model_dump(
        exclude={"input", "response_format", "stream_format", "receipt"},
        exclude_none=True,
    )
    deadline_ms = max(1, round(deadline_s * 1000))
    said = opening.model_dump(exclude={"type", "stream"}, exclude_none=True)
    return {**style, **said, "receipt": True, "deadline_ms": deadline_ms}


def _reading(told: Told) -> Reading:
    """The reading that the cloud speaks, without symbols: they never leave it."""
    values = told.receipt or {}
    try:
        spans = tuple(
            Span(
                *(int(one["start"]), int(one["end"])),
                *(str(one["text"]), str(one["spoken"]), str(one["rule"])),
                first=int(one["syllables"][0]),
                count=int(one["syllables"][1]) - int(one["syllables"][0]),
            )
            for one in values["spans"]
        )
        unread = tuple(
            Unread(int(one["start"]), int(one["end"]), str(one["text"]))
            for one in values["unread"]
        )
        return Reading(
            text=str(values["text"]),
            dialect=str(values["dialect"]),
            spoken=str(values["spoken"]),
            syllables=tuple(map(str, values["syllables"])),
            surface=tuple(map(str, values["surface"])),
            spans=spans,
            unread=unread,
            units=(),
            symbols=(),
        )
    except (KeyError, TypeError, ValueError, IndexError):
        raise YaoheError("internal_error", "the cloud's receipt is none") from None


def _pauses(told: Told) -> Callable[[], Awaitable[Pauses]] | None:
    """What the cloud told about its clauses, in the shape that a speech has."""
    known = told.pauses
    if known is None:
        return None

    async def find() -> Pauses:
        return known

    return find
