"""Settings of the line to the cloud: ``YAOHE_EDGE_SYNC__*``."""

from __future__ import annotations

from pydantic import Field

from common.settings import Section


class SyncSettings(Section):
    """How often the box speaks to the cloud, and how much it asks for.

    Attributes:
        enabled: Whether an enrolled box connects.
        state_s: Seconds between reports of its health.
        report_s: Seconds between reports of what was spoken.
        tick_s: Seconds after which something that did not come is asked for again.
        max_events: Events that may wait for the cloud; the oldest are given up.
    """

    enabled: bool = True
    state_s: float = Field(60.0, gt=0)
    report_s: float = Field(600.0, gt=0)
    tick_s: float = Field(5.0, gt=0)
    max_events: int = Field(10_000, ge=100)
