"""The cloud's settings: ``YAOHE_CLOUD_*``, ``__`` for nesting, ``.env``.

Built once by the command line and passed on; nothing else reads the environment.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator
from pydantic_settings import BaseSettings

from cloud.fleet.settings import FleetSettings
from common.files import cloud_data
from common.settings import LabelSettings, LogSettings, Section, tier_config

MIB = 1 << 20
DEFAULT_THREADS = min(os.cpu_count() or 1, 4)
DEFAULT_PORT = 8700
DEFAULT_WORKER_PORT = 8702

Address = Annotated[str, StringConstraints(pattern=r"\A\S+:[0-9]{1,5}\z")]
"""HOST:PORT."""
EngineName = Literal["packed", "kokoro", "chattts", "reference"]


class EngineSettings(Section):
    """What speaks.

    Attributes:
        name: ``packed`` (packs of this project), ``kokoro``, ``chattts``, or
            ``reference`` (the ChatTTS package, one after another).
        packs: Folders of packs for ``packed``; none means the starter pack.
        unsigned: Whether a pack without a signature may speak.
        kokoro: Kokoro's folder; None is ``engines/kokoro`` among the cloud's data.
        threads: Threads of one run of a graph.
        runs: Runs of a graph at the same time.
        slots: Utterances that share those runs, chunk by chunk.
    """

    name: EngineName = "packed"
    packs: tuple[Path, ...] = ()
    unsigned: bool = False
    kokoro: Path | None = None
    threads: int = Field(DEFAULT_THREADS, ge=1, le=256)
    runs: int = Field(1, ge=1, le=64)
    slots: int = Field(4, ge=1, le=1024)


class ChatTtsSettings(Section):
    """The engine ``chattts``, whose weights whoever runs it brings.

    Attributes:
        assets: The asset folder; None is ``engines/chattts`` among the cloud's data.
        accept_licence: Says that the weights' terms are known and kept: the published
            ones are CC BY-NC 4.0, for research and not for commerce.
        sha256: Digest that the assets must have; None takes what is there.
        dtype: ``fp32``, ``bf16``, or ``int8``, which sounds different: listen first.
        device: A torch device, such as ``cpu`` or ``cuda:0``.
        graphs: Whether steps have fixed sizes, which a GPU records and replays.
        slots: Utterances that share one step.
        places: Utterances that it takes at the same time; they take turns in the slots.
        prompt_tokens: Prompt tokens that one step takes on.
        cache_mib: Memory for keys and values, MiB; 120 KiB a token in fp32.
        refine: Whether the model first sets breaks into a text.
        markup: Whether ``[laugh]``, ``[uv_break]`` and ``[lbreak]`` in a text are
            meant; else they are silent.
        patience_s: Seconds after which a step counts as hung.
        warm_up: Common sentences spoken before it is ready.
        reference: Python of the environment with the ChatTTS package, for the engine
            ``reference`` (``make reference``).
    """

    assets: Path | None = None
    accept_licence: bool = False
    sha256: Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")] | None = None
    dtype: Literal["fp32", "bf16", "int8"] = "fp32"
    device: str = "cpu"
    graphs: bool = False
    slots: int = Field(16, ge=1, le=1024)
    places: int = Field(64, ge=1, le=4096)
    prompt_tokens: int = Field(32, ge=1, le=4096)
    cache_mib: int = Field(4096, ge=1)
    refine: bool = False
    markup: bool = False
    patience_s: float = Field(60.0, gt=0)
    warm_up: int = Field(100, ge=0, le=100)
    reference: Path = Path(".venv-reference/bin/python")


class QueueSettings(Section):
    """Who may wait, and how long.

    Attributes:
        capacity: Utterances that may wait for a slot; one more is ``queue_full``.
        first_audio_ms: Milliseconds to the first sound where a request does not say.
        ahead_s: Seconds of sound made ahead of a slow listener.
    """

    capacity: int = Field(64, ge=0)
    first_audio_ms: int = Field(30_000, ge=1)
    ahead_s: float = Field(120.0, gt=0)


class WorkerSettings(Section):
    """Engines in processes of their own, on this machine or on others.

    Attributes:
        addresses: Workers that speak for this service, HOST:PORT, the preferred first;
            none means that the engine runs in the service itself.
        host: Address that a worker listens on.
        port: Port that a worker listens on.
        metrics_port: Port of a worker's metrics over HTTP; 0 serves none.
        look_s: Seconds between two looks at each worker.
        silence_s: Seconds that a worker may leave a running job without sound.
        goodbye_s: Seconds that running jobs get when a worker stops.
        certificate: This side's certificate, PEM; without one nothing is encrypted.
        key: Its private key, PEM.
        authority: Certificate of who vouches for the other side, PEM.
    """

    addresses: tuple[Address, ...] = ()
    host: str = "127.0.0.1"
    port: int = Field(DEFAULT_WORKER_PORT, ge=0, le=65535)
    metrics_port: int = Field(0, ge=0, le=65535)
    look_s: float = Field(1.0, gt=0)
    silence_s: float = Field(60.0, gt=0)
    goodbye_s: float = Field(30.0, ge=0)
    certificate: Path | None = None
    key: Path | None = None
    authority: Path | None = None

    @model_validator(mode="after")
    def _whole(self) -> WorkerSettings:
        """Refuse half a set of files: it would look like encryption."""
        given = [
            one is not None for one in (self.certificate, self.key, self.authority)
        ]
        if any(given) and not all(given):
            raise ValueError("certificate, key and authority go together")
        return self


class CacheSettings(Section):
    """What is kept of what was said.

    Attributes:
        max_bytes: Memory for finished sounds; 0 keeps nothing.
        receipts: Receipts kept at most.
        receipts_s: Seconds that a receipt is kept.
    """

    max_bytes: int = Field(256 * MIB, ge=0)
    receipts: int = Field(10_000, ge=1)
    receipts_s: float = Field(600.0, gt=0)


class JobSettings(Section):
    """Long texts spoken in the background.

    Attributes:
        capacity: Jobs that may run or wait; one more is ``queue_full``.
        running: Jobs that are spoken at the same time.
        keep_s: Seconds that a finished job and its sound are kept.
        max_bytes: Disk for all finished sounds; the oldest leave first.
        longest_s: Seconds of sound that one job may have.
    """

    capacity: int = Field(64, ge=0)
    running: int = Field(2, ge=1, le=64)
    keep_s: float = Field(3600.0, gt=0)
    max_bytes: int = Field(2048 * MIB, ge=0)
    longest_s: float = Field(3 * 3600.0, gt=0)


class HttpSettings(Section):
    """The door.

    Attributes:
        host: Address to listen on.
        port: Port to listen on.
        origins: Web origins whose pages may call; ``*`` is all.
        goodbye_s: Seconds that running answers get when the server stops.
    """

    host: str = "127.0.0.1"
    port: int = Field(DEFAULT_PORT, ge=0, le=65535)
    origins: tuple[str, ...] = ("*",)
    goodbye_s: int = Field(10, ge=0)


class CloudSettings(BaseSettings):
    """Everything the cloud can be told.

    Attributes:
        data: Where the cloud keeps its state and downloaded engines.
        lexicon: File of readings that hold for all shops, read again when it changes.
        engine: What speaks.
        chattts: The engine of that name.
        worker: Engines in processes of their own.
        queue: Who waits.
        cache: What is kept.
        jobs: Long texts in the background.
        http: The door.
        fleet: The boxes.
        label: The AI-content label.
        log: Logging.
    """

    model_config = tier_config("cloud")

    data: Path = Field(default_factory=cloud_data)
    lexicon: Path | None = None
    engine: EngineSettings = EngineSettings()
    chattts: ChatTtsSettings = ChatTtsSettings()
    worker: WorkerSettings = WorkerSettings()
    queue: QueueSettings = QueueSettings()
    cache: CacheSettings = CacheSettings()
    jobs: JobSettings = JobSettings()
    http: HttpSettings = HttpSettings()
    fleet: FleetSettings = FleetSettings()
    label: LabelSettings = LabelSettings()
    log: LogSettings = LogSettings()

    @property
    def kokoro_directory(self) -> Path:
        """Where Kokoro's files lie."""
        return self.engine.kokoro or self.data / "engines" / "kokoro"

    @property
    def chattts_directory(self) -> Path:
        """Where ChatTTS's assets lie."""
        return self.chattts.assets or self.data / "engines" / "chattts"
