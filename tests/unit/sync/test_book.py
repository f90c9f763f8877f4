"""What the box remembers of the line, and how the cloud counts what it hears."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlite_utils

from cloud.fleet.boxes import DAY_S
from cloud.fleet.events import KEEP_S
from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from common.protocol import reports
from common.protocol.repair import Heard
from common.protocol.reports import Birth, Event
from edge.sync.book import Book, migrations
from edge.sync.events import MAX_REPORTS, Spoken
from edge.sync.marks import Marks

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


def add(book: Book, count: int) -> None:
    for number in range(count):
        book.events.add("door", 1, {"n": number}).result()


def test_event_stays_until_the_cloud_has_it(open_book: Callable[[], Book]) -> None:
    book = open_book()
    add(book, 3)
    first, *_ = book.events.waiting(10)
    assert book.events.heard([Heard("ab", 99)]).result() == 0
    assert book.events.heard([Heard(first.life, first.number)]).result() == 1
    assert book.events.heard([Heard(first.life, first.number)]).result() == 0
    left = book.events.waiting(10)
    assert [event.body["n"] for event in left] == [1, 2]
    assert {event.oldest for event in left} == {first.number + 1}


def test_two_copies_of_a_disk_never_name_two_events_alike(
    open_book: Callable[[], Book], tmp_path: Path
) -> None:
    book = open_book()
    add(book, 2)
    book.close()
    (tmp_path / "copy").mkdir()
    for path in tmp_path.glob("sync.db*"):
        shutil.copy(path, tmp_path / "copy")
    one, two = open_book(), Book(tmp_path / "copy" / "sync.db", MAX_EVENTS)
    two.open()
    add(one, 1)
    add(two, 1)
    first, second = one.events.waiting(10), two.events.waiting(10)
    two.close()
    # What happened before the copy happened once.
    assert first[:2] == second[:2]
    assert (first[2].life, first[2].number) != (second[2].life, second[2].number)


def test_new_life_counts_on_and_says_where_it_begins(
    open_book: Callable[[], Book],
) -> None:
    book = open_book()
    add(book, 2)
    book.close()
    again = open_book()
    add(again, 2)
    events = again.events.waiting(10)
    assert [event.number for event in events] == [1, 2, 3, 4]
    assert [event.oldest for event in events] == [1, 1, 3, 3]
    assert len({event.life for event in events}) == 2


def test_file_of_the_first_release_keeps_its_events(
    tmp_path: Path, open_book: Callable[[], Book]
) -> None:
    database = sqlite_utils.Database(tmp_path / "sync.db")
    migrations.apply(database, stop_before="m002_lives")
    database.execute("INSERT INTO events VALUES (7, 'door', 1, '{\"n\": 0}')")
    database.conn.commit()
    (life,) = database.execute("SELECT value FROM facts").fetchone()
    database.close()
    book = open_book()
    add(book, 1)
    old, new = book.events.waiting(10)
    assert (old.life, old.number, old.oldest, old.body) == (life, 7, 7, {"n": 0})
    assert new.life.startswith(life)
    assert new.life != life
    assert new.number == 8


def test_marks_outlive_a_database_that_was_rebuilt(
    open_book: Callable[[], Book], tmp_path: Path
) -> None:
    book = open_book()
    marks = Marks(book, tmp_path / "marks.json")
    assert marks.restore() is False
    marks.raise_to({"root": 3, "timestamp:a": 9})
    book.close()
    for path in tmp_path.glob("sync.db*"):
        path.write_bytes(b"not a database")
    again = open_book()
    assert again.versions() == {}
    restored = Marks(again, tmp_path / "marks.json")
    assert restored.restore() is True
    assert again.versions() == {"root": 3, "timestamp:a": 9}
    # And the other way round: the file may be lost, cut short or forged.
    for content in (b"", b"[]", b'{"root": true, "x": "y"}', b'{"root": 1}'):
        (tmp_path / "marks.json").write_bytes(content)
        assert restored.versions() == {"root": 3, "timestamp:a": 9}
    assert restored.restore() is True
    assert b'"timestamp:a": 9' in (tmp_path / "marks.json").read_bytes()


def test_rebuilt_database_begins_another_life(
    open_book: Callable[[], Book], tmp_path: Path
) -> None:
    book = open_book()
    book.events.add("door", 1, {}).result()
    first = book.events.waiting(1)[0].life
    book.close()
    for path in tmp_path.glob("sync.db*"):
        path.write_bytes(b"not a database")
    again = open_book()
    again.events.add("door", 1, {}).result()
    assert again.events.waiting(1)[0].number == 1
    assert again.events.waiting(1)[0].life != first


def test_oldest_events_are_given_up_and_that_is_told(
    open_book: Callable[[], Book],
) -> None:
    book = open_book()
    for number in range(MAX_EVENTS + 5):
        book.events.add("door", 1, {"n": number}).result()
    assert book.events.count_waiting() == (MAX_EVENTS, 5)
    assert book.events.waiting(1)[0].oldest == 6
    assert book.events.waiting(1)[0].body == {"n": 5}


def test_counts_become_one_event_and_are_then_gone(
    open_book: Callable[[], Book],
) -> None:
    book = open_book()
    assert book.events.report_counts(1).result() is False
    book.events.add_counts({said("甲"): 2, said("乙"): 1}, {"edge": 3}).result()
    book.events.add_counts({said("甲"): 5}, {"edge": 1, "cache": 4}).result()
    assert book.events.report_counts(1).result() is True
    assert book.events.report_counts(1).result() is False
    (event,) = book.events.waiting(10)
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
    book.events.add_counts(heat, {}).result()
    while book.events.report_counts(1).result():
        pass
    events = book.events.waiting(100)
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


def test_counts_add_up_while_enough_reports_wait(
    open_book: Callable[[], Book],
) -> None:
    book = open_book()
    for _ in range(MAX_REPORTS + 5):
        book.events.add_counts({said("甲"): 2}, {"edge": 2}).result()
        book.events.report_counts(1).result()
    waiting = book.events.waiting(100)
    assert len(waiting) == MAX_REPORTS
    last = waiting[0]
    book.events.heard([Heard(last.life, last.number)]).result()
    assert book.events.report_counts(1).result() is True
    newest = book.events.waiting(100)[-1]
    assert newest.body["tiers"] == {"edge": 10}
    assert newest.body["phrases"][0]["plays"] == 10


def heard(office: Office, *events: tuple[int, int]) -> list[tuple[bool, int]]:
    """Take numbers, each with the oldest that the box still has."""
    told = []
    with office.db.change() as db:
        for number, oldest in events:
            event = Event(life="aa", number=number, oldest=oldest, kind="door", at=1)
            is_news, upto = office.events.take(db, "shop-1", event)
            told.append((is_news, upto.upto))
    return told


def test_event_counts_once_however_often_it_comes(office: Office) -> None:
    assert heard(office, (1, 1), (1, 1), (2, 1), (1, 1)) == [
        *((True, 1), (False, 1)),
        *((True, 2), (False, 2)),
    ]
    other = Event(life="bb", number=1, oldest=1, kind="door", at=1)
    with office.db.change() as db:
        assert office.events.take(db, "shop-1", other) == (True, Heard("bb", 1))


def test_mark_waits_for_what_is_missing(office: Office) -> None:
    assert heard(office, (1, 1), (3, 1), (4, 1)) == [(True, 1), (True, 1), (True, 1)]
    assert heard(office, (3, 1), (2, 1)) == [(False, 1), (True, 4)]


def test_mark_passes_what_the_box_gave_up_or_told_another_cloud(office: Office) -> None:
    assert heard(office, (40, 40), (41, 40)) == [(True, 40), (True, 41)]
    assert heard(office, (60, 55), (55, 55)) == [(True, 54), (True, 55)]
    # The first release told no oldest number, and waits for no mark.
    old = Event(life="cc", number=9, kind="door", at=1)
    with office.db.change() as db:
        assert office.events.take(db, "shop-1", old) == (True, Heard("cc", 0))
        assert office.events.take(db, "shop-1", old) == (False, Heard("cc", 0))


def test_event_that_was_forgotten_here_still_counts_once(tmp_path: Path) -> None:
    clock = [1000.0]
    office = Office(tmp_path, FleetSettings(chain="tea"), now=lambda: clock[0])
    heard(office, (1, 1), (2, 1), (5, 1))
    clock[0] += KEEP_S + 1
    office.events.forget_old()
    left = office.db.read("SELECT number FROM events")
    assert [row["number"] for row in left] == [5]
    assert heard(office, (2, 1)) == [(False, 2)]


def test_two_machines_with_one_name_are_noticed(tmp_path: Path) -> None:
    clock = [1000.0]
    office = Office(tmp_path, FleetSettings(chain="tea"), now=lambda: clock[0])
    with office.db.change() as db:
        db.execute(
            "INSERT INTO boxes (box, groups, enrolled, certificate_expires) "
            "VALUES ('shop-1', '[]', 0, 0)"
        )

    def doubled() -> int | None:
        return office.boxes.list()[0].doubled

    # Reconnects, restarts, an old will and the broker's memory are one machine.
    for up, boot, session in (
        *((True, "aa", 1), (True, "aa", 2), (False, "aa", 1)),
        *((True, "bb", 1), (False, "aa", 2), (True, "aa", 2), (True, "bb", 1)),
        *((True, "bb", 2), (True, "cc", 1)),
    ):
        take(office, up=up, boot=boot, session=session)
        assert doubled() is None, (up, boot, session)
    take(office, up=True, boot="dd", session=1)
    take(office, up=True, boot="cc", session=2)
    assert doubled() == 1000
    clock[0] += DAY_S + 1
    assert doubled() is None
