"""An engine of symbols for phrases that the service's own may say wrongly.

Built when it is first needed: most services never need it.
"""

from __future__ import annotations

import asyncio

from cloud.dispatch import Dispatch
from cloud.engines import build
from cloud.metrics import Metrics
from cloud.settings import CloudSettings
from common.protocol.synthesis import SpeechRequest
from common.receipts import ReceiptBook
from common.speech import Speech


class Spare:
    """Packs, whatever the service's engine is."""

    def __init__(
        self, settings: CloudSettings, metrics: Metrics, receipts: ReceiptBook
    ) -> None:
        """Remember the parts; nothing is loaded yet.

        Args:
            settings: The cloud's settings.
            metrics: Where to count.
            receipts: Where receipts are kept.
        """
        engine = settings.engine.model_copy(update={"name": "packed"})
        self._settings = settings.model_copy(update={"engine": engine})
        self._parts = (metrics, receipts)
        self._dispatch: Dispatch | None = None
        self._building = asyncio.Lock()

    async def speak(self, request: SpeechRequest, utterance: str) -> Speech:
        """Speak a request.

        Args:
            request: A checked request.
            utterance: Its id.

        Returns:
            Speech whose first sound is there.

        Raises:
            YaoheError: Why there is no sound.
        """
        async with self._building:
            if self._dispatch is None:
                engine = build(self._settings)
                await engine.start()
                self._dispatch = Dispatch(engine, self._settings, *self._parts)
        return await self._dispatch.speak(request, utterance)

    async def stop(self) -> None:
        """Free it."""
        if self._dispatch is not None:
            await self._dispatch.engine.stop()
