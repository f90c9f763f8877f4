"""Every number that a box shows to Prometheus, declared once.

Names are ``yaohe_edge_<thing>_<unit>`` in base units. A registry of its own, so that
two boxes in one process do not share their counts.
"""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)

from common.protocol.synthesis import TIERS

FIRST_AUDIO_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.4, 0.8, 2, 8)


class EdgeMetrics:
    """The box's counters and gauges.

    Attributes:
        utterances: Utterances begun, by tier.
        first_audio: Seconds from request to first audio, by tier.
        refusals: Requests answered with an error, by code.
        abandoned: Utterances whose listener left before the end.
        takeovers: Sentences that the cloud began and the box finished, by tier.
        kept: Renditions written to the cache.
        not_kept: Complete utterances that could not be written.
        synthesis_seconds: Seconds of work on the stage.
        synthesised_seconds: Seconds of sound made on the stage.
        active: Utterances on the stage now.
        renditions: Renditions in the cache.
        cache_bytes: Bytes of their masters.
        evicted: Renditions that left to make room.
        rebuilt: Times that a damaged cache file was replaced.
        ready: Whether a voice is loaded.
    """

    def __init__(self) -> None:
        """Declare everything at zero."""
        self.registry = registry = CollectorRegistry()
        self.utterances = Counter(
            "yaohe_edge_utterances",
            "Utterances begun, by who spoke.",
            ["tier"],
            registry=registry,
        )
        self.first_audio = Histogram(
            "yaohe_edge_first_audio_seconds",
            "From request to first audio, by who spoke.",
            ["tier"],
            buckets=FIRST_AUDIO_BUCKETS,
            registry=registry,
        )
        for tier in TIERS:
            self.utterances.labels(tier)
            self.first_audio.labels(tier)
        self.refusals = Counter(
            "yaohe_edge_refusals",
            "Requests answered with an error, by code.",
            ["code"],
            registry=registry,
        )
        self.abandoned = self._counter(
            "abandoned", "Utterances whose listener left before their end."
        )
        self.takeovers = Counter(
            "yaohe_edge_takeovers",
            "Sentences that the cloud began and the box finished, by who did.",
            ["tier"],
            registry=registry,
        )
        for tier in ("edge", "last-resort"):
            self.takeovers.labels(tier)
        self.kept = self._counter("cache_writes", "Renditions written to the cache.")
        self.not_kept = self._counter(
            "cache_write_failures", "Complete utterances that could not be kept."
        )
        self.synthesis_seconds = self._gauge(
            "synthesis_seconds", "Seconds of work on the stage since the start."
        )
        self.synthesised_seconds = self._gauge(
            "synthesised_seconds", "Seconds of sound made since the start."
        )
        self.active = self._gauge("synthesis_active", "Utterances on the stage now.")
        self.renditions = self._gauge("cache_renditions", "Renditions in the cache.")
        self.cache_bytes = self._gauge("cache_bytes", "Bytes of cached masters.")
        self.evicted = self._gauge(
            "cache_evictions", "Renditions that left to make room since the start."
        )
        self.rebuilt = self._gauge(
            "cache_rebuilds", "Damaged cache files replaced since the start."
        )
        self.ready = self._gauge("ready", "1 when a voice is loaded.")

    def exposition(self) -> bytes:
        """All numbers in Prometheus' text format."""
        return generate_latest(self.registry)

    def _counter(self, name: str, about: str) -> Counter:
        return Counter(f"yaohe_edge_{name}", about, registry=self.registry)

    def _gauge(self, name: str, about: str) -> Gauge:
        return Gauge(f"yaohe_edge_{name}", about, registry=self.registry)
