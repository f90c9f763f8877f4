"""What a server of streams shows to Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from common.sessions import Sessions
from common.streaming.figures import StreamFigures
from tests.unit.stream.wire import Tones, Wire, events, frames

TEXT = "今日特价，新鲜草莓每斤9.9元。"


async def test_streams_are_counted_from_opening_to_loss(sessions: Sessions) -> None:
    registry = CollectorRegistry()
    registry.register(StreamFigures("box", sessions))

    def number(name: str) -> float | None:
        return registry.get_sample_value(f"box_streams_{name}")

    tones = Tones(chunks=30)
    wire = Wire(sessions, tones)
    wire.say(type="start", codec="pcm", input=TEXT)
    token = events(await wire.until("started"), "started")[0]["token"]
    await wire.hear()
    await wire.cut()
    assert (number("opened_total"), number("open_count")) == (1, 1)
    wire = Wire(sessions, tones)
    wire.say(type="resume", token=token, seq=0)
    heard = await wire.until("end")
    assert number("resumed_total") == 1
    assert number("held_bytes") > 0  # type: ignore[operator]
    wire.say(type="ack", seq=len(frames(heard)))
    wire.say(type="start", codec="pcm", stream=1, input=TEXT)
    await wire.until("started")
    assert number("held_bytes") == sessions.held
    assert number("lost_total") == 0
    tones.gate.clear()
    wire.say(type="start", codec="pcm", stream=2, input=TEXT + TEXT)
    await wire.until("started")
    await wire.cut()
    open_ones = number("open_count")
    sessions.close()
    assert number("open_count") == 0
    assert open_ones is not None
    assert 1 <= number("lost_total") <= open_ones  # type: ignore[operator]
