"""A rendition names the lexicon that its text was read with, where one decided."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cloud.dispatch import Dispatch
from cloud.fleet.office import Office
from cloud.fleet.rendering import Renderer, Speak, Wishes
from cloud.fleet.settings import FleetSettings
from cloud.settings import CloudSettings
from common.protocol.rendition import SentRendition
from common.protocol.synthesis import SpeechRequest, parse_speech
from common.speech import Speech
from common.text import Lexicon, LexiconFile
from edge.readings import Readings
from tests.unit.cloud.conftest import ToneEngine

OWN = "说服\tshui4 fu2\n"
TEXT = "说服你"
PLAIN = "今日特价"

Build = Callable[..., Dispatch]


class Studio:
    """A cloud whose chain has words of its own, and what it renders."""

    def __init__(self, folder: Path, dispatch_of: Build) -> None:
        self.words = folder / "chain.tsv"
        self.words.write_text(OWN, "utf-8")
        settings = CloudSettings(lexicon=self.words)
        self.dispatch = dispatch_of(ToneEngine(), settings)
        office = Office(folder / "cloud", FleetSettings(chain="tea"))
        self._wishes = Wishes(office.db)
        self._renderer = Renderer(self._wishes, office.catalogue, self.dispatch.speak)

    async def rendered(self, text: str, speak: Speak | None = None) -> SentRendition:
        wish = self._wishes.find(self._wishes.add(text))
        made = await self._renderer.render(wish, speak or self.dispatch.speak)
        return made.rendition


async def test_a_rendition_names_the_chains_lexicon_only_where_it_decided(
    tmp_path: Path, dispatch_of: Build
) -> None:
    studio = Studio(tmp_path, dispatch_of)
    digest = Lexicon.parse(OWN).digest
    assert (await studio.rendered(TEXT)).lexicon_sha256 == digest
    assert (await studio.rendered(PLAIN)).lexicon_sha256 == ""


async def test_a_box_with_the_chains_words_names_the_same_lexicon_and_key(
    tmp_path: Path, dispatch_of: Build
) -> None:
    studio = Studio(tmp_path, dispatch_of)
    sent = await studio.rendered(TEXT)
    request = parse_speech({"input": TEXT})
    here = await Readings(10, LexiconFile(studio.words)).read(TEXT, "zh")
    assert (here.key(request), here.lexicon_sha256) == (
        sent.key.hex(),
        sent.lexicon_sha256,
    )
    elsewhere = await Readings(10).read(TEXT, "zh")
    assert elsewhere.key(request) != sent.key.hex()
    assert elsewhere.lexicon_sha256 == ""


async def test_words_edited_while_a_phrase_is_spoken_are_not_those_it_was_read_with(
    tmp_path: Path, dispatch_of: Build
) -> None:
    studio = Studio(tmp_path, dispatch_of)

    async def edited(request: SpeechRequest, utterance: str) -> Speech:
        speech = await studio.dispatch.speak(request, utterance)
        studio.words.write_text("别的\tbie2 de5\n", "utf-8")
        return speech

    sent = await studio.rendered(TEXT, edited)
    assert sent.lexicon_sha256 == Lexicon.parse(OWN).digest
