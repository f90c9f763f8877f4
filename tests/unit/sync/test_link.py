"""The link against a real broker: at least once, never doubled state, always back."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from common.mqtt import Farewell, Link, LinkDown, LinkOptions
from common.mqtt.connection import Connection
from tests.brokers import Mosquitto

pytestmark = pytest.mark.broker
PATIENCE_S = 15.0


def options(broker: Mosquitto, client: str, *, mqtt5: bool = True) -> LinkOptions:
    return LinkOptions(
        *("127.0.0.1", broker.port, client),
        mqtt5=mqtt5,
        backoff_first_s=0.05,
        backoff_max_s=0.2,
        connect_timeout_s=3,
    )


@asynccontextmanager
async def up(link: Link) -> AsyncIterator[Link]:
    link.start()
    try:
        await asyncio.wait_for(link.wait_up(), PATIENCE_S)
        yield link
    finally:
        await link.stop()


async def take(link: Link) -> tuple[str, bytes]:
    delivery = await asyncio.wait_for(link.receive(), PATIENCE_S)
    delivery.ack()
    return delivery.topic, delivery.payload


@pytest.mark.parametrize("mqtt5", [True, False])
async def test_message_arrives_and_publish_waits_for_the_broker(
    broker: Mosquitto, mqtt5: bool
) -> None:
    reader = Link(options(broker, "reader", mqtt5=mqtt5), filters=["t/+"])
    async with up(reader), up(Link(options(broker, "w", mqtt5=mqtt5))) as writer:
        await asyncio.gather(*(writer.publish(f"t/{n}", b"x") for n in range(100)))
        assert {(await take(reader))[0] for _ in range(100)} == {
            f"t/{n}" for n in range(100)
        }


async def test_unacknowledged_messages_come_again_after_a_restart(
    broker: Mosquitto,
) -> None:
    reader = Link(options(broker, "reader"), filters=["t"])
    async with up(Link(options(broker, "w"))) as writer:
        async with up(reader):
            for n in range(5):
                await writer.publish("t", bytes([n]))
            first = await asyncio.wait_for(reader.receive(), PATIENCE_S)
            first.ack()
            await asyncio.sleep(0.2)
        again = Link(options(broker, "reader"), filters=["t"])
        async with up(again):
            assert [(await take(again))[1] for _ in range(4)] == [
                bytes([n]) for n in range(1, 5)
            ]


async def test_link_returns_after_the_broker_was_killed(broker: Mosquitto) -> None:
    ups: list[int] = []
    link = Link(options(broker, "box"), filters=["back"], on_up=lambda: ups.append(1))
    async with up(link):
        broker.stop(kill=True)
        with pytest.raises(LinkDown):
            await link.publish("gone", b"")
        broker.start()
        await asyncio.wait_for(link.wait_up(), PATIENCE_S)
        assert len(ups) == 2
        await link.publish("back", b"1")
        assert await take(link) == ("back", b"1")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_dead_network_thread_is_noticed_and_replaced(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = Link(options(broker, "box"), filters=["poison"])
    async with up(link):
        with monkeypatch.context() as patch:
            hand_over = Connection._hand_over

            def die(connection: Connection, *facts: Any) -> None:
                if threading.current_thread().name.startswith("paho"):
                    sys.exit("the network thread dies")
                hand_over(connection, *facts)

            patch.setattr(Connection, "_hand_over", die)
            task = asyncio.ensure_future(link.publish("poison", b""))
            with pytest.raises(LinkDown):
                await asyncio.wait_for(task, PATIENCE_S)
        await asyncio.wait_for(link.wait_up(), PATIENCE_S)
        await link.publish("fine", b"")
        assert link.connections == 2


async def test_every_connection_has_its_own_birth_and_will(broker: Mosquitto) -> None:
    session = 0

    async def farewell() -> Farewell:
        nonlocal session
        session += 1
        say = [json.dumps({"up": up, "s": session}).encode() for up in (True, False)]
        return Farewell("birth", *say)

    watcher = Link(options(broker, "watcher"), filters=["birth"])
    box = Link(options(broker, "box"), farewell=farewell)
    async with up(watcher):
        async with up(box):
            assert json.loads((await take(watcher))[1]) == {"up": True, "s": 1}
            assert box._connection is not None
            wire = box._connection._client.socket()
            assert isinstance(wire, socket.socket)
            wire.shutdown(socket.SHUT_RDWR)
            said = [json.loads((await take(watcher))[1]) for _ in range(2)]
            assert sorted(said, key=lambda each: each["s"]) == [
                {"up": False, "s": 1},
                {"up": True, "s": 2},
            ]
        assert json.loads((await take(watcher))[1]) == {"up": False, "s": 2}


async def test_two_links_with_one_name_stay_and_wait_ever_longer(
    broker: Mosquitto,
) -> None:
    first, second = Link(options(broker, "twin")), Link(options(broker, "twin"))
    async with up(first), up(second):
        await asyncio.sleep(2)
        assert first.connections + second.connections >= 3
    pauses = [first._pause_s(50) for _ in range(50)]
    assert max(pauses) <= 0.2


async def test_kicked_link_waits_longer_each_time(broker: Mosquitto) -> None:
    link = Link(LinkOptions("127.0.0.1", 1, "x", backoff_first_s=1, backoff_max_s=50))
    bounds = [max(link._pause_s(n) for _ in range(300)) for n in (1, 3, 5, 30)]
    assert bounds == sorted(bounds)
    assert bounds[0] <= 1
    assert 30 < bounds[-1] <= 50
