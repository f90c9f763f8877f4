"""A box and a cloud on this machine, speaking: ``make demo``.

Starts both with empty state on free ports of the loopback, has the box speak three
signage sentences over HTTP, asks once more for the first, and asks the cloud. Sounds go
to ``demo-out/``, what happened into a table. Then both run until Ctrl-C, or end at once
with ``--once``.
"""

from __future__ import annotations

import argparse
import http.client
import json
import signal
import sys
import tempfile
import time
import wave
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from deploy.demo.servers import NotStarted, Server, running

OUT = Path("demo-out")
RATE = 24_000
BYTES_A_SECOND = RATE * 2
TIMEOUT_S = 60
SENTENCES = (
    "今日特价，新鲜草莓每斤9.9元，买一送一。",
    "请A023号顾客到3号窗口取餐。",
    "全场八五折，会员再减5元，活动到12月31日结束。",
)


@dataclass(frozen=True)
class Spoken:
    """What one request gave.

    Attributes:
        who: Which server was asked.
        tier: Who spoke.
        first_ms: Milliseconds to the first byte of sound.
        seconds: Length of the sound.
        factor: Time to make it, as a part of its length.
        file: Where it lies.
        text: What was said.
    """

    who: str
    tier: str
    first_ms: float
    seconds: float
    factor: float
    file: str
    text: str


def speak(server: Server, text: str, name: str) -> Spoken:
    """Ask for one sentence as streamed pcm, and keep it as a WAV file.

    Args:
        server: Whom to ask.
        text: What to say.
        name: The file's name without its suffix.

    Returns:
        What came back.

    Raises:
        NotStarted: The server refused.
    """
    host = urlsplit(server.address).netloc
    connection = http.client.HTTPConnection(host, timeout=TIMEOUT_S)
    connection.connect()
    body = json.dumps({"input": text, "response_format": "pcm"}).encode()
    begun = time.perf_counter()
    connection.request(
        "POST", "/v1/audio/speech", body, {"Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    if answer.status != http.client.OK:
        raise NotStarted(f"{server.name} refused {text!r}: {answer.read().decode()}")
    sound = answer.read1()
    first = time.perf_counter()
    sound += answer.read()
    ended = time.perf_counter()
    connection.close()
    path = OUT / f"{name}.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(sound)
    seconds = len(sound) / BYTES_A_SECOND
    return Spoken(
        who=server.name,
        tier=answer.getheader("X-Yaohe-Tier", "?"),
        first_ms=(first - begun) * 1000,
        seconds=seconds,
        factor=(ended - begun) / seconds,
        file=str(path),
        text=text,
    )


def show(spoken: Sequence[Spoken]) -> None:
    """Print the table."""
    print()
    print("asked  tier         first audio   length      RTF  file")
    for row in spoken:
        print(
            f"{row.who:5}  {row.tier:11}  {row.first_ms:8.1f} ms  {row.seconds:5.2f} s"
            f"  {row.factor:7.4f}  {row.file}  {row.text}"
        )


def tour(box: Server, cloud: Server) -> list[Spoken]:
    """The sentences, the first of them again, and the cloud."""
    spoken = [
        speak(box, text, f"{number}-box")
        for number, text in enumerate(SENTENCES, start=1)
    ]
    spoken.append(speak(box, SENTENCES[0], "4-box-again"))
    spoken.append(speak(cloud, SENTENCES[0], "5-cloud"))
    return spoken


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo.

    Args:
        argv: Arguments; the command line's when absent.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="make demo", description="Box and cloud.")
    parser.add_argument("--once", action="store_true", help="end after the sentences")
    once: bool = parser.parse_args(argv).once
    OUT.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ExitStack() as stack:
            data = stack.enter_context(tempfile.TemporaryDirectory(prefix="yaohe-"))
            box = stack.enter_context(
                running(
                    "box",
                    ["edge", "run"],
                    {
                        "YAOHE_EDGE_DATA": f"{data}/box",
                        "YAOHE_EDGE_HTTP__HOST": "127.0.0.1",
                        "YAOHE_EDGE_HTTP__PORT": "{port}",
                    },
                    OUT / "box.log",
                )
            )
            cloud = stack.enter_context(
                running(
                    "cloud",
                    ["cloud", "serve"],
                    {
                        "YAOHE_CLOUD_DATA": f"{data}/cloud",
                        "YAOHE_CLOUD_HTTP__HOST": "127.0.0.1",
                        "YAOHE_CLOUD_HTTP__PORT": "{port}",
                    },
                    OUT / "cloud.log",
                )
            )
            show(tour(box, cloud))
            print(f"\nbox: {box.address}   cloud: {cloud.address}   sounds: {OUT}/")
            if not once:
                print("Both go on until Ctrl-C.", flush=True)
                signal.pause()
    except NotStarted as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nEnded.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
