"""One connection from its first packet to its last: a paho client that is used once.

Rules of this module:

* paho's callbacks (``_on_...``) run on its network thread; each hands its facts to the
  event loop (``_take_...``) and does nothing else.
* paho never reconnects and never keeps a backlog: what was not acknowledged when the
  connection ends fails with :class:`LinkDown`, and its owner still has it on disk.
* A network thread that dies without a word is noticed and ends the connection.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from paho.mqtt.client import Client, MQTTMessage, MQTTv5, MQTTv311
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from common.mqtt.options import (
    MAX_OUTSTANDING,
    MAX_UNACKNOWLEDGED,
    Farewell,
    LinkDown,
    LinkOptions,
    PublishRefused,
)

QOS = 1
PULSE_S = 1.0
"""How often the network thread is looked at."""
REFUSED = 128
"""Reason codes from here on are failures."""
NO_MATCHING_SUBSCRIBERS = 16
TRANSIENT = {0x80, 0x88, 0x89, 0x97}
"""Unspecified, server unavailable, busy, quota exceeded: worth another try."""


class Received(NamedTuple):
    """A message as it came.

    Attributes:
        topic: Its address.
        payload: Its bytes.
        retained: Whether it is the broker's memory rather than news.
        number: Packet id for the acknowledgement.
        qos: 0 or 1.
    """

    topic: str
    payload: bytes
    retained: bool
    number: int
    qos: int


class Connection:
    """A connection; all methods belong to the event loop's thread."""

    def __init__(
        self,
        options: LinkOptions,
        farewell: Farewell | None,
        receive: Callable[[Connection, Received], None],
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            options: Where to, and as whom.
            farewell: Birth and will of this connection.
            receive: Called on the event loop with this connection and each message.
        """
        self._options = options
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._ended: asyncio.Future[str] = self._loop.create_future()
        self._thread: threading.Thread | None = None
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._outstanding = asyncio.Semaphore(MAX_OUTSTANDING)
        self._client = self._built(farewell)

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._ended.done()

    async def open(self) -> None:
        """Connect and wait for the broker's welcome.

        Raises:
            LinkDown: It did not come.
        """
        options = self._options
        properties = None
        if options.mqtt5:
            properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
            properties.SessionExpiryInterval = options.session_expiry_s
            properties.ReceiveMaximum = MAX_UNACKNOWLEDGED
        clean: dict[str, Any] = {"clean_start": False} if options.mqtt5 else {}

        def connect() -> None:
            self._client.connect(
                options.host,
                options.port,
                options.keepalive_s,
                properties=properties,
                **clean,
            )

        try:
            await asyncio.to_thread(connect)
        except (OSError, ValueError) as error:
            raise LinkDown(f"cannot connect: {error}") from None
        self._client.loop_start()
        await asyncio.wait({self._opened}, timeout=options.connect_timeout_s)
        if not self._opened.done():
            raise LinkDown("the broker does not answer")
        self._opened.result()

    async def ended(self) -> str:
        """Wait for the connection's end.

        Returns:
            Why, in a few words.
        """
        while not self._ended.done():
            await asyncio.wait({self._ended}, timeout=PULSE_S)
            if self._thread is not None and not self._thread.is_alive():
                self._end("the network thread died")
        return self._ended.result()

    async def close(self) -> None:
        """Leave, if we are not gone yet, and stop the network thread."""

        def leave() -> None:
            self._client.disconnect()
            self._client.loop_stop()
            # Otherwise the pair that wakes the thread is left to the garbage collector.
            self._client._reset_sockets()
            self._client.on_connect = self._client.on_disconnect = None
            self._client.on_message = self._client.on_publish = None
            self._client.on_subscribe = None

        await asyncio.to_thread(leave)
        self._end("closed")

    async def publish(self, topic: str, payload: bytes, *, retain: bool) -> None:
        """Send a message and wait until the broker has it.

        Raises:
            LinkDown: The connection ended first.
            PublishRefused: The broker will never take it.
        """
        async with self._outstanding:
            if self._ended.done() or not self._opened.done():
                raise LinkDown("not connected")
            sent = self._client.publish(topic, payload, QOS, retain)
            if sent.rc != 0:
                self._end(f"not sent: {sent.rc.name}")
                raise LinkDown(self._ended.result())
            await self._acknowledged(sent.mid)

    async def subscribe(self, topic: str) -> None:
        """Ask for a filter's messages; retained ones come at once.

        Raises:
            LinkDown: The connection ended first.
            PublishRefused: The broker will not.
        """
        if self._ended.done():
            raise LinkDown(self._ended.result())
        if self._options.mqtt5:
            result, number = self._client.subscribe(
                topic, options=SubscribeOptions(qos=QOS)
            )
        else:
            result, number = self._client.subscribe(topic, QOS)
        if result != 0 or number is None:
            raise LinkDown(f"not sent: {result.name}")
        await self._acknowledged(number)

    def acknowledge(self, received: Received) -> None:
        """Tell the broker that a message is done with."""
        if not self._ended.done():
            self._client.ack(received.number, received.qos)

    async def _acknowledged(self, number: int) -> None:
        done: asyncio.Future[None] = self._loop.create_future()
        self._waiting[number] = done
        try:
            await done
        finally:
            self._waiting.pop(number, None)

    def _built(self, farewell: Farewell | None) -> Client:
        options = self._options
        client = Client(
            CallbackAPIVersion.VERSION2,
            options.client,
            protocol=MQTTv5 if options.mqtt5 else MQTTv311,
            clean_session=None if options.mqtt5 else False,
            manual_ack=True,
            reconnect_on_failure=False,
        )
        client.connect_timeout = options.connect_timeout_s
        client.max_inflight_messages_set(MAX_OUTSTANDING)
        if options.tls is not None:
            client.tls_set_context(options.tls())
        if farewell is not None:
            client.will_set(farewell.topic, farewell.will, QOS, retain=True)
        client.on_socket_open = _send_at_once
        client.on_connect = self._on_connect
        client.on_disconnect = self._on_disconnect
        client.on_message = self._on_message
        client.on_publish = self._on_publish
        client.on_subscribe = self._on_subscribe
        return client

    def _hand_over(self, take: Callable[..., None], *facts: Any) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(take, *facts)

    def _on_connect(
        self, client: Client, data: Any, flags: Any, reason: ReasonCode, more: Any
    ) -> None:
        self._hand_over(self._take_connect, threading.current_thread(), reason)

    def _on_disconnect(
        self, client: Client, data: Any, flags: Any, reason: ReasonCode, more: Any
    ) -> None:
        self._hand_over(self._end, str(reason))

    def _on_message(self, client: Client, data: Any, message: MQTTMessage) -> None:
        self._hand_over(self._take_message, message)

    def _on_publish(
        self, client: Client, data: Any, number: int, reason: ReasonCode, more: Any
    ) -> None:
        self._hand_over(self._take_answer, number, reason)

    def _on_subscribe(
        self, client: Client, data: Any, number: int, reasons: Any, more: Any
    ) -> None:
        self._hand_over(self._take_answer, number, reasons[0])

    def _take_connect(self, thread: threading.Thread, reason: ReasonCode) -> None:
        self._thread = thread
        if reason.is_failure:
            self._end(f"refused: {reason}")
        elif not self._opened.done():
            self._opened.set_result(None)

    def _take_message(self, message: MQTTMessage) -> None:
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = ""
        payload = bytes(message.payload)
        received = Received(topic, payload, message.retain, message.mid, message.qos)
        self._receive(self, received)

    def _take_answer(self, number: int, reason: ReasonCode) -> None:
        done = self._waiting.get(number)
        if done is None or done.done():
            return
        if reason.value < REFUSED:
            done.set_result(None)
        elif reason.value in TRANSIENT:
            done.set_exception(LinkDown(f"not now: {reason}"))
        else:
            done.set_exception(PublishRefused(str(reason)))

    def _end(self, reason: str) -> None:
        if self._ended.done():
            return
        self._ended.set_result(reason)
        if not self._opened.done():
            self._opened.set_exception(LinkDown(reason))
            # Read here once, so that nobody has to when the try was given up.
            self._opened.exception()
        for done in self._waiting.values():
            if not done.done():
                done.set_exception(LinkDown(reason))


def _send_at_once(client: Client, data: Any, connected: Any) -> None:
    """Small packets do not wait for the ones before them (40 ms otherwise)."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
