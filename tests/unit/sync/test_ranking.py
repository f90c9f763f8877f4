"""What shops say most is wished for, where the cloud reads it as they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud.fleet import ranking
from cloud.fleet.office import Office
from cloud.fleet.ranking import HOT_PLAYS, Ranking
from cloud.fleet.rendering import Wishes
from cloud.fleet.settings import FleetSettings
from common.phrase import phrase_key
from common.protocol.reports import Event
from common.text import RULES_VERSION, Lexicon, LexiconFile, read

OWN = "说服\tshui4 fu2\n"


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "cloud", FleetSettings(chain="tea"))


def say(
    office: Office, ranked: Ranking, text: str, own: str = "", plays: int = 9
) -> None:
    """Report a phrase as a shop with words of its own does."""
    lexicon = Lexicon.parse(own)
    key = phrase_key(read(text, lexicon=lexicon).symbols, voice="woman", dialect="zh")
    phrase = {
        **{"key": key, "text": text, "voice": "woman", "dialect": "zh"},
        **{"rules": RULES_VERSION, "lexicon": lexicon.digest if own else ""},
        "plays": plays,
    }
    event = Event(life="aa", number=1, kind="spoken", at=1, body={"phrases": [phrase]})
    with office.db.change() as db:
        ranked.take(db, "shop-1", event)


def wished(office: Office, ranked: Ranking) -> list[str]:
    ranked.wish()
    return [wish.text for wish in Wishes(office.db).waiting(100)]


def test_phrase_of_a_shops_own_words_waits_for_the_chain_to_share_them(
    office: Office, tmp_path: Path
) -> None:
    alone = Ranking(office.db, Wishes(office.db))
    say(office, alone, "说服你", OWN)
    say(office, alone, "今日特价")
    assert wished(office, alone) == ["今日特价"]
    shared = tmp_path / "chain.tsv"
    shared.write_text(OWN, "utf-8")
    ranked = Ranking(office.db, Wishes(office.db), lexicon=LexiconFile(shared))
    assert wished(office, ranked) == ["今日特价", "说服你"]


def test_phrase_that_the_chain_reads_otherwise_than_the_shop_is_not_wished_for(
    office: Office, tmp_path: Path
) -> None:
    shared = tmp_path / "chain.tsv"
    shared.write_text(OWN, "utf-8")
    ranked = Ranking(office.db, Wishes(office.db), lexicon=LexiconFile(shared))
    say(office, ranked, "说服你")
    assert wished(office, ranked) == []


def test_phrases_that_cannot_be_wished_for_do_not_stand_in_the_way(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "MAX_HOT", 2)
    ranked = Ranking(office.db, Wishes(office.db))
    for number in range(5):
        say(office, ranked, f"说服{number}号", OWN, plays=100 + number)
        say(office, ranked, f"第{number}桌", plays=HOT_PLAYS + number)
    assert wished(office, ranked) == ["第4桌", "第3桌"]
    assert wished(office, ranked) == ["第4桌", "第3桌", "第2桌", "第1桌"]
