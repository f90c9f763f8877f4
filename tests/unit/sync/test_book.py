"""What the box remembers of the line, and how the cloud counts what it hears."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from common.protocol import reports
from common.protocol.reports import Birth, Event
from edge.sync.book import Book, Spoken

MAX_EVENTS = 100


@pytest.fixture
def open_book(tmp_path: Path) -> Iterator[Callable[[], Book]]:
    books: list[Book] = []

    def make() -> Book:
        book = Book(tmp_path / "sync.db", MAX_EVENTS)
        book.open()
        books.append(book)
        return book

    yield make
    for book in books:
        book.close()


def said(text: str) -> Spoken:
    return Spoken(text.encode().hex().zfill(32)[:32], text, "woman", "zh", 1, "")


def test_marks_only_rise(open_book: Callable[[], Book]) -> None:
    book = open_book()
    book.raise_to({"root": 3, "timestamp:a": 9})
    book.raise_to({"root": 2, "timestamp:b": 1})
    assert book.versions() == {"root": 3, "timestamp:a": 9, "timestamp:b": 1}


def test_metadata_that_came_meanwhile_is_kept(open_book: Callable[[], Book]) -> None:
    book = open_book()
    names = [f"{n}.{role}.json" for n in (1, 2, 3) for role in ("root", "targets")]
    for name in (*names, "timestamp.json"):
        book.keep_metadata(name, b"x").result()
    book.drop_older({"root": 3, "targets": 2, "timestamp": 9}).result()
    left = {name for name in (*names, "timestamp.json") if book.metadata(name)}
    assert left == {*names, "timestamp.json"} - {"1.targets.json"}


def test_events_keep_their_numbers_over_a_restart(
    open_book: Callable[[], Book],
) -> None:
    book = open_book()
    for number in range(3):
        book.add_event("door", 1, {"n": number}).result()
    book.delivered([1]).result()
    book.close()
    again = open_book()
    again.add_event("door", 1, {"n": 3}).result()
    events = again.waiting(10)
    assert [event.number for event in events] == [2, 3, 4]
    assert len({event.life for event in events}) == 1


def test_rebuilt_database_begins_another_life(
    open_book: Callable[[], Book], tmp_path: Path
) -> None:
    book = open_book()
    book.add_event("door", 1, {}).result()
    first = book.waiting(1)[0].life
    book.close()
    for path in tmp_path.glob("sync.db*"):
        path.write_bytes(b"not a database")
    again = open_book()
    again.add_event("door", 1, {}).result()
    assert again.waiting(1)[0].number == 1
    assert again.waiting(1)[0].life != first


def test_oldest_events_are_given_up_and_that_is_told(
    open_book: Callable[[], Book],
) -> None:
    book = open_book()
    for number in range(MAX_EVENTS + 5):
        book.add_event("door", 1, {"n": number}).result()
    assert book.count_waiting() == (MAX_EVENTS, 5)
    assert book.waiting(1)[0].body == {"n": 5}


def test_counts_become_one_event_and_are_then_gone(
    open_book: Callable[[], Book],
) -> None:
    book = open_book()
    assert book.report_counts(1).result() is False
    book.add_counts({said("甲"): 2, said("乙"): 1}, {"edge": 3}).result()
    book.add_counts({said("甲"): 5}, {"edge": 1, "cache": 4}).result()
    assert book.report_counts(1).result() is True
    assert book.report_counts(1).result() is False
    (event,) = book.waiting(10)
    assert event.body["tiers"] == {"edge": 4, "cache": 4}
    assert [(p["text"], p["plays"]) for p in event.body["phrases"]] == [
        ("甲", 7),
        ("乙", 1),
    ]


def test_long_phrases_are_told_in_several_reports(
    open_book: Callable[[], Book],
) -> None:
    book = open_book()
    heat = {said(f"{n:02}" + "长" * 4000): n + 1 for n in range(10)}
    book.add_counts(heat, {}).result()
    while book.report_counts(1).result():
        pass
    events = book.waiting(100)
    assert len(events) > 1
    assert all(len(reports.encode(event)) < Event.MAX_BYTES for event in events)
    told = [p["plays"] for event in events for p in event.body["phrases"]]
    assert sorted(told) == list(range(1, 11))


@pytest.fixture
def office(tmp_path: Path) -> Office:
    office = Office(tmp_path / "cloud", FleetSettings(chain="tea"))
    with office.db.change() as db:
        db.execute(
            "INSERT INTO boxes (box, groups, enrolled, certificate_expires) "
            "VALUES ('shop-1', '[]', 0, 0)"
        )
    return office


def take(office: Office, *, up: bool, boot: str, session: int) -> bool:
    birth = Birth(up=up, boot=boot, session=session)
    with office.db.change() as db:
        office.boxes.take_birth(db, "shop-1", birth)
    return office.boxes.list()[0].is_up


def test_old_will_never_beats_a_new_birth(office: Office) -> None:
    assert take(office, up=True, boot="aa", session=1)
    assert take(office, up=True, boot="aa", session=2)
    assert take(office, up=False, boot="aa", session=1)
    assert not take(office, up=False, boot="aa", session=2)
    assert take(office, up=True, boot="bb", session=1)
    assert take(office, up=False, boot="aa", session=2)
    assert not take(office, up=False, boot="bb", session=1)


def test_event_counts_once_however_often_it_comes(office: Office) -> None:
    event = Event(life="aa", number=1, kind="door", at=1)
    other = Event(life="bb", number=1, kind="door", at=1)
    with office.db.change() as db:
        news = [
            office.boxes.take_event(db, "shop-1", each)
            for each in (event, event, other, event)
        ]
    assert news == [True, False, True, False]
