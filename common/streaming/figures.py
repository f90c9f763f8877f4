"""What ``/v1/stream`` shows to Prometheus, the same on both tiers."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from common.sessions import Sessions


class StreamFigures(Collector):
    """Reads the sessions when somebody looks."""

    def __init__(self, prefix: str, sessions: Sessions) -> None:
        """Remember them.

        Args:
            prefix: What the names begin with, such as ``yaohe_edge``.
            sessions: The streams of the server.
        """
        self._prefix = prefix
        self._sessions = sessions

    def describe(self) -> Iterator[Metric]:
        """The names; two servers of one registry would be a mistake."""
        return self.collect()

    def collect(self) -> Iterator[Metric]:
        """The numbers now."""
        prefix, sessions = self._prefix, self._sessions
        yield GaugeMetricFamily(
            f"{prefix}_streams_open_count",
            "Streams that are open, those that wait for their client included.",
            len(sessions),
        )
        yield GaugeMetricFamily(
            f"{prefix}_streams_held_bytes",
            "Bytes sent and not acknowledged, of all streams.",
            sessions.held,
        )
        yield CounterMetricFamily(
            f"{prefix}_streams_opened", "Streams begun.", sessions.opened
        )
        yield CounterMetricFamily(
            f"{prefix}_streams_resumed",
            "Times that a client came back to its stream.",
            sessions.resumed,
        )
        yield CounterMetricFamily(
            f"{prefix}_streams_lost",
            "Streams closed before their end: nobody came back, or room was needed.",
            sessions.lost,
        )
