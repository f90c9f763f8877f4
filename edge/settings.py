"""What a box can be told: environment ``YAOHE_EDGE_*``, ``__`` for nesting, ``.env``.

Built once in the command line and passed on. Every limit has its unit in its name and
a default that suits a shop.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings

from common.files import edge_data
from common.settings import LabelSettings, LogSettings, Section, tier_config
from edge.sync.settings import SyncSettings

MIB = 1024 * 1024
DEFAULT_PORT = 8701

Mode = Literal["local", "hybrid", "cloud"]


class HttpSettings(Section):
    """The door on the shop's network.

    Attributes:
        host: Address to listen on.
        port: Port to listen on; 0 takes a free one and prints it.
        keep_alive_s: How long an idle connection is kept.
        token: What a device must show to make the box speak; without one it need not.
    """

    host: str = (
        "0.0.0.0"  # noqa: S104 - devices of the shop call the box by its address
    )
    port: int = Field(DEFAULT_PORT, ge=0, le=65535)
    keep_alive_s: int = Field(75, ge=1)
    token: SecretStr | None = Field(None, min_length=1)


class CacheSettings(Section):
    """What the box keeps of what it has said.

    Attributes:
        budget_bytes: Most bytes of masters on disk.
        min_free_bytes: Nothing is written when the disk has less left.
        hot_bytes: Memory for renditions that play all the time.
        max_rendition_s: Longer speech is spoken and not kept.
        readings: Texts whose reading is remembered.
    """

    budget_bytes: int = Field(256 * MIB, ge=0)
    min_free_bytes: int = Field(64 * MIB, ge=0)
    hot_bytes: int = Field(48 * MIB, ge=0)
    max_rendition_s: float = Field(30.0, gt=0, le=120)
    readings: int = Field(4096, ge=1)


class SynthesisSettings(Section):
    """How much the box works at a time.

    Attributes:
        workers: Threads that speak.
        queue: Utterances in work or waiting; one more is answered ``queue_full``.
        ahead_s: Seconds of sound made ahead of a slow listener.
    """

    workers: int = Field(1, ge=1, le=16)
    queue: int = Field(32, ge=1)
    ahead_s: float = Field(15.0, gt=0, le=120)


class PolicySettings(Section):
    """Who speaks.

    Attributes:
        mode: ``local`` never asks the cloud, ``cloud`` asks it first, ``hybrid`` asks
            it when the box cannot.
        deadline_ms: First audio of the cloud is due by then, or the box speaks.
        min_quality: Lowest rank of a rendition or pack that counts as good enough.
    """

    mode: Mode = "hybrid"
    deadline_ms: int = Field(800, ge=1)
    min_quality: int = Field(0, ge=0, le=100)


class CloudSettings(Section):
    """The cloud that speaks for the box where the box cannot.

    Attributes:
        url: Its address, ``http(s)://host:port``; without one the box is alone.
        probe_s: Seconds between looks at whether it is well.
    """

    url: str | None = None
    probe_s: float = Field(15.0, ge=1)


class EdgeSettings(BaseSettings):
    """Everything a box can be told.

    Attributes:
        data: Folder of the box's state.
        pack: Folder of the active pack; the shipped starter pack when absent.
        lexicon: File of the shop's own readings, read again whenever it changes.
        http: The door on the shop's network.
        cache: What is kept.
        synthesis: How much work at a time.
        policy: Who speaks.
        cloud: The cloud that is asked.
        sync: The line to the cloud of an enrolled box.
        label: The AI-content label.
        log: Logging.
    """

    model_config = tier_config("edge")

    data: Path = Field(default_factory=edge_data)
    pack: Path | None = None
    lexicon: Path | None = None
    http: HttpSettings = HttpSettings()
    cache: CacheSettings = CacheSettings()
    synthesis: SynthesisSettings = SynthesisSettings()
    policy: PolicySettings = PolicySettings()
    cloud: CloudSettings = CloudSettings()
    sync: SyncSettings = SyncSettings()
    label: LabelSettings = LabelSettings()
    log: LogSettings = LogSettings()
