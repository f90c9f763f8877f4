"""Every metric of the cloud, declared once.

Each application has a registry of its own, so that several live in one process.
"""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST

MEDIA_TYPE = CONTENT_TYPE_LATEST

FIRST_AUDIO_BUCKETS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 1.5, 3.0, 6.0, 12.0, 30.0)
"""Seconds to first sound."""
RTF_BUCKETS = (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 4.0, 8.0)
"""Seconds of work per second of sound."""


class Metrics:
    """The cloud's counters, gauges and histograms."""

    def __init__(self) -> None:
        """Declare them in a fresh registry."""
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "yaohe_cloud_requests_total",
            "Utterances that began to sound, by tier.",
            ["tier"],
            registry=self.registry,
        )
        self.errors = Counter(
            "yaohe_cloud_errors_total",
            "Answers that were errors, by stable code.",
            ["code"],
            registry=self.registry,
        )
        self.stopped = Counter(
            "yaohe_cloud_stopped_total",
            "Utterances stopped before their end: the client left or was out of time.",
            registry=self.registry,
        )
        self.first_audio = Histogram(
            "yaohe_cloud_first_audio_seconds",
            "From the request to its first sound, reading and waiting included.",
            ["tier"],
            buckets=FIRST_AUDIO_BUCKETS,
            registry=self.registry,
        )
        self.audio = Counter(
            "yaohe_cloud_audio_seconds_total",
            "Sound made by the engine.",
            ["engine"],
            registry=self.registry,
        )
        self.rtf = Histogram(
            "yaohe_cloud_real_time_factor_ratio",
            "Seconds in a slot per second of sound, for each finished utterance.",
            ["engine"],
            buckets=RTF_BUCKETS,
            registry=self.registry,
        )
        self.queue = Gauge(
            "tts_queue_length",
            "Utterances that wait for a slot.",
            registry=self.registry,
        )
        self.slots = Gauge(
            "yaohe_cloud_slots_busy_count",
            "Slots that hold an utterance.",
            registry=self.registry,
        )
        self.cached = Gauge(
            "yaohe_cloud_cache_bytes",
            "Memory that finished sounds take.",
            registry=self.registry,
        )

    def exposition(self) -> bytes:
        """Everything in Prometheus' text form."""
        return generate_latest(self.registry)
