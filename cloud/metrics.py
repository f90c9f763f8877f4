"""Every metric of the cloud, declared once, for the service and for its workers.

Each application has a registry of its own, so that several live in one process.
Requests per second are ``rate(yaohe_cloud_requests_total)``; the mean batch is the rate
of tokens over the rate of steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    start_http_server,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
)
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from cloud.engine.base import Engine, HasWorkers, KnowsLoad, Load, places
from cloud.gpu import Gpus
from common.admission import Admission
from common.errors import YaoheError
from common.protocol.synthesis import Tier

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
        self.all_slots = Gauge(
            "yaohe_cloud_slots_count",
            "Slots of the engine, or of all workers that are there.",
            registry=self.registry,
        )
        self.cached = Gauge(
            "yaohe_cloud_cache_bytes",
            "Memory that finished sounds take.",
            registry=self.registry,
        )
        self.jobs = Gauge(
            "yaohe_cloud_jobs_count",
            "Long texts that are being spoken or wait for it.",
            registry=self.registry,
        )
        self.registry.register(_GpuFigures(Gpus()))

    def watch(self, engine: Engine, admission: Admission) -> None:
        """Show an engine and the queue before it.

        Args:
            engine: What speaks.
            admission: Who waits for it.
        """
        self.queue.set_function(lambda: admission.waiting)
        self.slots.set_function(lambda: admission.working)
        self.all_slots.set_function(lambda: places(engine))
        if isinstance(engine, KnowsLoad):
            self.registry.register(_EngineFigures(engine.load))
        if isinstance(engine, HasWorkers):
            self.registry.register(_WorkerFigures(engine))

    def began(self, tier: Tier, waited_s: float) -> None:
        """Count an utterance that begins to sound.

        Args:
            tier: Who speaks.
            waited_s: Seconds from its request.
        """
        self.requests.labels(tier).inc()
        self.first_audio.labels(tier).observe(waited_s)

    def finished(self, engine: str, sound_s: float, worked_s: float) -> None:
        """Count an utterance that was made to its end.

        Args:
            engine: Who made it.
            sound_s: Its length in seconds; without any nothing is counted.
            worked_s: Seconds that it held a slot.
        """
        if sound_s > 0:
            self.audio.labels(engine).inc(sound_s)
            self.rtf.labels(engine).observe(worked_s / sound_s)

    def exposition(self) -> bytes:
        """Everything in Prometheus' text form."""
        return generate_latest(self.registry)


class _EngineFigures(Collector):
    """What an engine that batches says of its steps."""

    def __init__(self, load: Callable[[], Load]) -> None:
        self._load = load

    def collect(self) -> Iterator[Metric]:
        load = self._load()
        yield GaugeMetricFamily(
            "yaohe_cloud_batch_rows_count",
            "Utterances in the engine's running step.",
            load.running,
        )
        yield GaugeMetricFamily(
            "yaohe_cloud_batch_waiting_count",
            "Utterances that the engine holds back for lack of a slot or of memory.",
            load.waiting,
        )
        yield CounterMetricFamily(
            "yaohe_cloud_engine_steps_total", "Steps of the engine.", load.steps
        )
        yield CounterMetricFamily(
            "yaohe_cloud_engine_tokens_total",
            "Tokens of the engine, all utterances together.",
            load.tokens,
        )


class _WorkerFigures(Collector):
    """How the workers are."""

    def __init__(self, engine: HasWorkers) -> None:
        self._engine = engine

    def collect(self) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "yaohe_cloud_workers_ready_count",
            "Workers that take jobs.",
            self._engine.ready_workers,
        )
        yield CounterMetricFamily(
            "yaohe_cloud_replaced_total",
            "Utterances that another worker took over before their first sound.",
            self._engine.replaced,
        )


class _GpuFigures(Collector):
    """How busy the machine's GPUs are; nothing where there are none."""

    def __init__(self, gpus: Gpus) -> None:
        self._gpus = gpus

    def collect(self) -> Iterator[Metric]:
        gpus = self._gpus.latest()
        if not gpus:
            return
        busy = GaugeMetricFamily(
            "yaohe_cloud_gpu_utilisation_ratio",
            "Share of time in which the GPU computed.",
            labels=["gpu"],
        )
        used = GaugeMetricFamily(
            "yaohe_cloud_gpu_memory_used_bytes", "GPU memory in use.", labels=["gpu"]
        )
        total = GaugeMetricFamily(
            "yaohe_cloud_gpu_memory_bytes", "All GPU memory.", labels=["gpu"]
        )
        for gpu in gpus:
            if gpu.utilisation is not None:
                busy.add_metric([gpu.index], gpu.utilisation)
            used.add_metric([gpu.index], gpu.used_bytes)
            total.add_metric([gpu.index], gpu.total_bytes)
        yield from (busy, used, total)


@contextmanager
def served(metrics: Metrics, host: str, port: int) -> Iterator[None]:
    """Give metrics over HTTP while the block runs, for a process without a web tier.

    Args:
        metrics: What to give.
        host: Address to listen on.
        port: Port to listen on; 0 gives nothing.

    Raises:
        YaoheError: ``invalid_request`` for an address that is taken.
    """
    if port == 0:
        yield
        return
    try:
        server, thread = start_http_server(port, host, metrics.registry)
    except OSError as error:
        raise YaoheError(
            "invalid_request", f"cannot listen on {host}:{port}: {error.strerror}"
        ) from None
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
