"""Asks the box to speak, as a device in the shop does, and keeps what is heard."""

from __future__ import annotations

import hashlib
import http.client
import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from websockets.sync.client import connect

from common.audio.pcm import SAMPLE_RATE, from_s16
from common.audio.provenance import Provenance
from common.audio.wav import write_wav
from common.phrase import phrase_key
from common.protocol.frames import unpack
from common.protocol.synthesis import DEFAULT_DIALECT, DEFAULT_VOICE
from common.text import read
from deploy.demo.chain import get
from deploy.demo.servers import DemoError, Server

TIMEOUT_S = 120
ACK_EVERY = 8
"""Frames of a stream that are acknowledged together."""


@dataclass(frozen=True)
class Heard:
    """What one request gave.

    Attributes:
        tier: Who began to speak.
        tiers: Everyone who spoke.
        reason: Why, and what happened on the way.
        substituted: What stood in for what was asked.
        first_ms: Milliseconds to the first sound.
        samples: Length of the sound.
        phrase_key: The phrase's key.
        pack_sha256: Which pack made the sound, or its beginning.
        file: The sound's file, in the demo's folder; empty where none is kept.
        sha256: Digest of that file.
        sound_sha256: Digest of its samples alone.
        dialect: What was spoken.
    """

    tier: str
    tiers: tuple[str, ...]
    reason: str
    substituted: str
    first_ms: float
    samples: int
    phrase_key: str
    pack_sha256: str
    file: str
    sha256: str
    sound_sha256: str
    dialect: str = DEFAULT_DIALECT

    @property
    def seconds(self) -> float:
        """Length of the sound."""
        return self.samples / SAMPLE_RATE


class Ear:
    """Hears what the box says.

    Attributes:
        counts: Utterances so far, by who began them.
    """

    def __init__(self, box: Server, folder: Path) -> None:
        """Remember whom to ask.

        Args:
            box: The box.
            folder: Where sounds go.
        """
        self.counts: Counter[str] = Counter()
        self._box = box
        self._folder = folder

    def ask(
        self,
        text: str,
        voice: str = DEFAULT_VOICE,
        name: str = "",
        dialect: str = DEFAULT_DIALECT,
    ) -> Heard:
        """Ask for a text over HTTP.

        Args:
            text: What to say.
            voice: Who shall speak.
            name: The sound file's name; none is kept without.
            dialect: In which dialect.

        Returns:
            What came.

        Raises:
            DemoError: The box refused, or does not answer.
        """
        connection = http.client.HTTPConnection(
            urlsplit(self._box.address).netloc, timeout=TIMEOUT_S
        )
        asked = {"input": text, "voice": voice, "response_format": "pcm"}
        asked |= {"dialect": dialect}
        head = {"Content-Type": "application/json"}
        try:
            connection.connect()
            began = time.perf_counter()
            connection.request(
                "POST", "/v1/audio/speech", json.dumps(asked).encode(), head
            )
            answer = connection.getresponse()
            if answer.status != http.client.OK:
                raise DemoError(f"the box refused {text!r}: {answer.read().decode()}")
            sound = answer.read1()
            first_ms = (time.perf_counter() - began) * 1000
            sound += answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise DemoError(f"the box does not speak: {error!r}") from None
        finally:
            connection.close()
        tier = answer.getheader("X-Yaohe-Tier", "")
        self.counts[tier] += 1
        receipt = get(
            f"{self._box.address}/v1/receipts/{answer.getheader('X-Yaohe-Utterance')}"
        )
        return self._heard(
            sound,
            text=text,
            voice=voice,
            name=name,
            told={**receipt, "tiers": [tier], "first_ms": first_ms},
        )

    def stream(
        self, text: str, voice: str, name: str, on_sound: Callable[[float], object]
    ) -> Heard:
        """Ask for a text over a socket, and do something while it is spoken.

        Args:
            text: What to say.
            voice: Who shall speak.
            name: The sound file's name.
            on_sound: Is told the seconds heard so far.

        Returns:
            What came.

        Raises:
            DemoError: The box refused, or the stream broke off.
        """
        url = self._box.address.replace("http", "ws", 1) + "/v1/stream"
        start = {"type": "start", "codec": "pcm", "input": text, "voice": voice}
        sound, frames, first_ms = bytearray(), 0, 0.0
        told: dict[str, Any] = {}
        try:
            with connect(url, max_size=None, proxy=None) as socket:
                began = time.perf_counter()
                socket.send(json.dumps(start))
                while told.get("type") != "end":
                    data = socket.recv(TIMEOUT_S)
                    if isinstance(data, str):
                        told |= _event(data)
                        continue
                    first_ms = first_ms or (time.perf_counter() - began) * 1000
                    sound += unpack(data).payload
                    frames += 1
                    if frames % ACK_EVERY == 0:
                        socket.send(json.dumps({"type": "ack", "seq": frames}))
                    on_sound(len(sound) / 2 / SAMPLE_RATE)
        except (OSError, TimeoutError) as error:
            raise DemoError(f"the stream broke off: {error!r}") from None
        self.counts[told["tier"]] += 1
        receipt = get(f"{self._box.address}/v1/receipts/{told['utterance']}")
        notes = "; ".join(told["notes"])
        told = {**receipt, **told, "reason": notes or told["reason"]}
        return self._heard(
            bytes(sound),
            text=text,
            voice=voice,
            name=name,
            told={**told, "provenance": receipt["provenance"], "first_ms": first_ms},
        )

    def _heard(
        self, sound: bytes, *, text: str, voice: str, name: str, told: dict[str, Any]
    ) -> Heard:
        """Keep a sound and say what is known of it."""
        origin = Provenance(**told["provenance"])
        file, digest = "", ""
        if name:
            wav = write_wav(
                from_s16(sound), origin.with_id(told["utterance"]).comments()
            )
            file, digest = f"{name}.wav", hashlib.sha256(wav).hexdigest()
            (self._folder / file).write_bytes(wav)
        dialect = told["dialect"]
        symbols = read(text, dialect).symbols
        return Heard(
            tier=told["tier"],
            tiers=tuple(told["tiers"]),
            reason=told["reason"],
            substituted=told["substituted"] or "",
            first_ms=told["first_ms"],
            samples=len(sound) // 2,
            phrase_key=phrase_key(symbols, voice=voice, dialect=dialect),
            pack_sha256=origin.pack_sha256,
            file=file,
            sha256=digest,
            sound_sha256=hashlib.sha256(sound).hexdigest(),
            dialect=dialect,
        )


def _event(data: str) -> dict[str, Any]:
    """A message of the box."""
    event: dict[str, Any] = json.loads(data)
    if event["type"] == "error":
        raise DemoError(f"the box refused: {event['error']['message']}")
    return event
