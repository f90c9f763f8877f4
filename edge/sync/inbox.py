"""What comes over the line: each message goes to whom it is for, and is done with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from common.errors import YaoheError
from common.mqtt import Delivery, Link
from common.protocol import topics
from common.protocol.cbor import decode
from common.protocol.repair import Reply
from edge.db import DatabaseGone
from edge.sync.catalogue import CatalogueDesk
from edge.sync.outbox import Outbox
from edge.sync.parts import Ota
from edge.sync.refusals import Refusals
from edge.sync.renewal import Renewal
from edge.sync.trust import TrustDesk


class Inbox:
    """Takes in what comes."""

    def __init__(
        self,
        link: Link,
        *,
        trust: TrustDesk,
        desk: CatalogueDesk,
        outbox: Outbox,
        renewal: Renewal,
        ota: Ota | None,
        refusals: Refusals,
        metadata_came: Callable[[], None],
        ask_soon: Callable[[], None],
    ) -> None:
        """Put the parts together.

        Args:
            link: Where messages come from.
            trust: Takes metadata.
            desk: Takes catalogues and their renditions.
            outbox: Hears what the cloud has.
            renewal: Takes certificates.
            ota: Takes packs; None where none come over the line.
            refusals: Writes down what is refused.
            metadata_came: Called when there is metadata to verify.
            ask_soon: Called when there may be something to ask the cloud.
        """
        self._link = link
        self._trust = trust
        self._desk = desk
        self._outbox = outbox
        self._renewal = renewal
        self._ota = ota
        self._refusals = refusals
        self._metadata_came = metadata_came
        self._ask_soon = ask_soon

    async def read(self) -> None:
        """Take in what comes, for ever; acknowledge what is done with."""
        while True:
            delivery = await self._link.receive()
            await self._try(delivery)
            # Whatever became of it: a message that fails would come for ever, and what
            # is missing is asked for.
            delivery.ack()

    async def _try(self, delivery: Delivery) -> None:
        """Take a message in; one that fails is a line in the log and no more."""
        name, kind = delivery.topic, "message"
        refused = self._refusals.say
        try:
            topic = topics.parse(name)
            kind = type(topic).__name__
            await self._take(topic, delivery.payload)
            if isinstance(topic, topics.Timestamp) and not delivery.retained:
                # The cloud says it with each of its connections.
                self._outbox.cloud_came_back()
        except YaoheError as error:
            refused(kind, error.code, f"{name} is refused: {error.message}")
        except DatabaseGone as error:
            refused(kind, "not kept", f"{name} is not kept: {error}")
        except Exception as error:  # noqa: BLE001 - the next one is read all the same
            reason, line = type(error).__name__, f"{name} could not be taken in"
            refused(kind, reason, line, level=logging.ERROR, error=error)

    async def _take(self, topic: topics.Topic, payload: bytes) -> None:
        if isinstance(topic, topics.Metadata | topics.Timestamp):
            await self._trust.take(topic, payload)
            self._metadata_came()
        elif isinstance(topic, topics.Head):
            await self._desk.take_head(topic.scope, payload)
            self._ask_soon()
        elif isinstance(topic, topics.Log):
            await self._desk.take_log(topic.scope, payload)
        elif isinstance(topic, topics.Command):
            reply = decode(Reply, payload)
            if reply.heard:
                await self._outbox.acknowledged(reply.heard)
            if reply.certificate is not None:
                await asyncio.to_thread(self._renewal.take, reply.certificate)
            if reply.scope is not None:
                await self._desk.take_reply(reply)
                self._ask_soon()
        elif isinstance(topic, topics.Inbox | topics.Chunk):
            chunk = (topic.blob, topic.index, payload)
            if self._ota is None or not await self._ota.take_chunk(*chunk):
                await self._desk.take_chunk(*chunk)
            self._ask_soon()
        elif isinstance(topic, topics.Job) and self._ota is not None:
            await self._ota.take_job(topic.scope, payload)
            self._ask_soon()
