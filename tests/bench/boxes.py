"""What the box's benchmarks share: texts, a keep-alive client, percentiles."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from tests.e2e.boxes import Box

TIMEOUT_S = 120
GOODS = "草莓 苹果 香蕉 牛奶 鸡蛋 大米 豆腐 鲈鱼 青菜 排骨".split()


def phrases(count: int) -> list[str]:
    """Signage sentences, all different.

    Args:
        count: How many.

    Returns:
        Texts of 15 to 25 characters.
    """
    return [
        f"今日特价，新鲜{GOODS[n % 10]}每斤{n // 10}.{n % 10}元，买一送一。"
        for n in range(count)
    ]


class Caller:
    """A client on one kept connection that measures from request to last byte."""

    def __init__(self, address: str) -> None:
        """Connect.

        Args:
            address: The box's base URL.
        """
        self._wire = http.client.HTTPConnection(
            urlsplit(address).netloc, timeout=TIMEOUT_S
        )
        self._wire.connect()

    def ask(self, text: str, kind: str) -> tuple[str, float, float, int]:
        """Ask for one sentence.

        Args:
            text: What to say.
            kind: Format of the answer.

        Returns:
            Tier, milliseconds to the first byte of sound and to the last, bytes.

        Raises:
            RuntimeError: The box refused.
        """
        body = json.dumps({"input": text, "response_format": kind})
        began = time.perf_counter()
        self._wire.request("POST", "/v1/audio/speech", body)
        answer = self._wire.getresponse()
        first = answer.read1()
        first_ms = (time.perf_counter() - began) * 1000
        rest = answer.read()
        last_ms = (time.perf_counter() - began) * 1000
        if answer.status != http.client.OK:
            raise RuntimeError(f"{answer.status}: {(first + rest)[:300]!r}")
        tier = answer.getheader("X-Yaohe-Tier", "?")
        return tier, first_ms, last_ms, len(first) + len(rest)

    def close(self) -> None:
        """Hang up."""
        self._wire.close()


@contextmanager
def calling(box: Box) -> Iterator[Caller]:
    """A caller while the block runs."""
    caller = Caller(box.address)
    try:
        yield caller
    finally:
        caller.close()


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which a part of them lies, nearest rank."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(part * len(ranked)))]


def scaled(count: int) -> int:
    """A count for this run; ``YAOHE_BENCH_SCALE`` makes trial runs small."""
    return max(3, int(count * float(os.environ.get("YAOHE_BENCH_SCALE", "1"))))
