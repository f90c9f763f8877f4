from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import cast

import numpy as np
import pytest

from common.audio.opus import OpusMaster, encode_master
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.audio.provenance import Comments, Provenance
from common.protocol.synthesis import parse_speech
from common.text import read
from edge.cache import Cache
from edge.keeper import MAX_WAITING, Finished, Keeper
from edge.metrics import EdgeMetrics
from edge.readings import Read
from edge.rendition import Rendition

SOUND = np.zeros(SAMPLE_RATE // 10, dtype=np.float32)


class Kept:
    """Stands for the cache: notes what is written."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def put(self, rendition: Rendition) -> Future[int]:
        self.keys.append(rendition.phrase_key)
        done: Future[int] = Future()
        done.set_result(1)
        return done


def finished(key: str, pack: str = "p" * 64) -> Finished:
    return Finished(
        key=key,
        request=parse_speech({"input": "好"}),
        read=Read(read("好"), "s" * 64),
        provenance=Provenance(engine="packed", pack="p@1", pack_sha256=pack),
        quality=1,
        utterance="u",
    )


def test_one_text_said_again_leaves_room_for_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = threading.Event()

    def slow(pcm: Pcm, comments: Comments) -> OpusMaster:
        gate.wait(20)
        return encode_master(pcm, comments)

    monkeypatch.setattr("edge.keeper.encode_master", slow)
    kept, metrics = Kept(), EdgeMetrics()
    keeper = Keeper(cast(Cache, kept), metrics)
    keeper.keep(finished("busy"), SOUND, 0.1)
    for _ in range(MAX_WAITING * 2):
        keeper.keep(finished("again"), SOUND, 0.1)
    keeper.keep(finished("again", "q" * 64), SOUND, 0.1)
    keeper.keep(finished("another"), SOUND, 0.1)
    gate.set()
    keeper.close()
    assert kept.keys == ["busy", "again", "again", "another"]
    assert metrics.not_kept._value.get() == 0
