"""An engine of symbols stands by where the service's own chooses readings itself."""

from __future__ import annotations

from pathlib import Path

from cloud.metrics import Metrics
from cloud.settings import ChatTtsSettings, CloudSettings, EngineSettings
from cloud.spare import Spare
from common.protocol.synthesis import parse_speech
from common.receipts import ReceiptBook
from common.speech import new_utterance


async def test_it_speaks_the_receipt_though_the_service_has_another_engine(
    tmp_path: Path,
) -> None:
    settings = CloudSettings(
        data=tmp_path,
        engine=EngineSettings(name="chattts"),
        chattts=ChatTtsSettings(accept_licence=True),
    )
    spare = Spare(settings, Metrics(), ReceiptBook())
    await spare.stop()
    speech = await spare.speak(parse_speech({"input": "你好"}), new_utterance())
    assert speech.receipt.enforced
    assert speech.provenance.engine == "packed"
    assert speech.chunks is not None
    assert sum([chunk.size async for chunk in speech.chunks]) > 2400
    await spare.stop()
