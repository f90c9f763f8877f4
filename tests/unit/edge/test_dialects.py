"""A bare box speaks three dialects; each request chooses; none is Mandarin in silence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest

from common.audio.pcm import Pcm
from common.errors import YaoheError
from common.protocol.synthesis import parse_speech
from common.speech import Speech, new_utterance
from common.text import Lexicon, LexiconFile
from edge.api.app import create_app
from edge.packs import LoadedPack, Packs
from edge.readings import Readings
from edge.service import Service
from edge.settings import EdgeSettings, PolicySettings
from tests.unit.edge.conftest import MakeBox
from tests.unit.edge.tiny import TinyVoice, heard_hertz, pack

TEXT = "今日特价，每斤九块九。"
ALL = ("zh", "gd", "sc")


async def speak(box: Service, **values: object) -> tuple[Speech, Pcm]:
    request = parse_speech({"input": TEXT, "response_format": "pcm", **values})
    speech = await box.speak(request, new_utterance())
    if speech.whole is not None:
        assert speech.whole.pcm is not None
        return speech, speech.whole.pcm
    assert speech.chunks is not None
    return speech, np.concatenate([chunk async for chunk in speech.chunks])


@pytest.fixture
async def bare(tmp_path: Path) -> AsyncIterator[Service]:
    """A box with nothing but what is in the wheel."""
    box = Service(EdgeSettings(data=tmp_path / "bare"))
    await box.start()
    await box.loaded()
    yield box
    await box.stop()


async def test_a_bare_box_speaks_three_dialects_each_in_its_own_way(
    bare: Service,
) -> None:
    assert set(bare.repertoire["woman"]) == set(ALL)
    sounds, packs = [], set()
    for dialect in ALL:
        speech, sound = await speak(bare, dialect=dialect)
        assert (speech.tier, speech.substituted) == ("edge", None)
        assert speech.receipt.reading.dialect == dialect
        sounds.append(sound)
        packs.add(speech.provenance.pack.partition("@")[0])
    assert packs == {"yaohe-woman", "yaohe-woman-gd", "yaohe-woman-sc"}
    assert len({sound.size for sound in sounds}) == 3


async def test_simple_clients_name_a_dialect_as_the_speaker(bare: Service) -> None:
    transport = httpx.ASGITransport(create_app(bare))
    async with httpx.AsyncClient(transport=transport, base_url="http://b") as client:
        query = {"input": TEXT, "response_format": "pcm"}
        heard = {
            name: (
                await client.get("/v1/audio/speech", params=query | {name: "gd"})
            ).content
            for name in ("speaker", "dialect")
        }
        mandarin = (await client.get("/v1/audio/speech", params=query)).content
        refused = await client.get(
            "/v1/audio/speech", params=query | {"speaker": "klingon"}
        )
    assert heard["speaker"] == heard["dialect"] != mandarin
    error = refused.json()["error"]
    assert (error["code"], error["param"]) == ("unknown_dialect", "speaker")


async def test_a_voice_without_the_dialect_is_stood_in_for_and_it_is_said(
    bare: Service,
) -> None:
    speech, _ = await speak(bare, dialect="sc", voice="man")
    assert (speech.tier, speech.substituted) == ("last-resort", "woman")
    assert speech.receipt.reading.dialect == "sc"
    assert "no pack speaks sc as man" in speech.reason


async def test_a_missing_dialect_is_never_mandarin_in_silence(
    make_box: MakeBox,
) -> None:
    box = await make_box(TinyVoice(), starter=TinyVoice())
    with pytest.raises(YaoheError) as refusal:
        await speak(box, dialect="sc")
    assert (refusal.value.code, refusal.value.status) == ("voice_unavailable", 503)
    speech, _ = await speak(box, dialect="sc", fallback="mandarin")
    assert speech.substituted == "zh"


async def test_a_dialect_that_comes_takes_over_that_dialect_alone(
    make_box: MakeBox,
) -> None:
    woman, old, new = (
        pack(TinyVoice(dialects=(dialect,)), name)
        for dialect, name in (("zh", "w@1"), ("sc", "sc@1"), ("sc", "sc@2"))
    )
    packs = Packs([woman], woman, dialects=[old])
    switched = packs.switched({("woman", "sc"): new})
    assert packs.active("woman", "sc") is old
    assert switched.active("woman", "sc") is new
    assert switched.active("woman", "zh") is woman
    assert switched.dialects == (old,)
    assert switched.switched({}).active("woman", "sc") is old


async def test_where_the_dialects_pack_fails_another_that_speaks_it_does(
    make_box: MakeBox,
) -> None:
    def named(voice: TinyVoice, name: str) -> LoadedPack:
        return pack(voice, name)

    broken = named(TinyVoice(dialects=("sc",), fails_at=0), "new@2")
    shipped = named(TinyVoice(dialects=("sc",)), "sc@1")
    starter = named(TinyVoice(), "woman@1")
    box = await make_box(starter, starter=starter, policy=PolicySettings(mode="local"))
    box.packs = Packs([starter], starter, {("woman", "sc"): broken}, [shipped])
    box._policy = box._make_policy()
    speech, sound = await speak(box, dialect="sc")
    assert (speech.tier, speech.substituted) == ("last-resort", None)
    assert speech.provenance.pack == "sc@1"
    assert heard_hertz(sound) > 0


def test_a_bad_dialect_pack_in_the_wheel_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from common.voice.bases import Bases, among
    from common.voice.pack import dialect_directories, starter_directory
    from edge.packs import load_dialects

    folders = (*dialect_directories(), tmp_path / "gone")
    monkeypatch.setattr("edge.packs.dialect_directories", lambda: folders)
    loaded = load_dialects(Bases(among([starter_directory()])))
    assert [one.voice.dialects for one in loaded] == [("gd",), ("sc",)]


async def test_words_of_a_pack_are_read_and_the_shops_own_win(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    readings = Readings(10, LexiconFile(own))
    text = "盖碗茶"
    plain = (await readings.read(text, "sc")).reading.syllables
    readings.use(Lexicon.parse("盖碗\tgai4 wan4\tsc"))
    found = await readings.read(text, "sc")
    assert found.reading.syllables[:2] == ("gai4", "wan4") != plain[:2]
    assert found.lexicon_sha256 == Lexicon.parse("盖碗\tgai4 wan4\tsc").digest
    own.write_text("盖碗\tgai4 wan1\tsc", "utf-8")
    assert (await readings.read(text, "sc")).reading.syllables[:2] == ("gai4", "wan1")
    own.unlink()
    readings.use(Lexicon())
    found = await readings.read(text, "sc")
    assert (found.reading.syllables, found.lexicon_sha256) == (plain, "")


async def test_a_pack_that_comes_brings_its_words(make_box: MakeBox) -> None:
    words = Lexicon.parse("盖碗\tgai4 wan4\tsc")
    box = await make_box(TinyVoice())
    plain = pack(TinyVoice(dialects=("sc",)), "sc@1")
    box._switch({("woman", "sc"): replace(plain, lexicon=words)})
    speech, _ = await speak(box, input="盖碗", dialect="sc")
    assert speech.receipt.reading.syllables == ("gai4", "wan4")
