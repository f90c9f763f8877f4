"""Receipts are kept for a while, and never more than memory is meant to hold."""

from __future__ import annotations

import pytest

from common.errors import YaoheError
from common.receipts import MAX_CHARACTERS, ReceiptBook
from common.text import read
from common.text.receipt import Receipt

READING = read("今日特价", "zh")


def kept(book: ReceiptBook, name: str) -> None:
    book.keep(Receipt(name, READING, enforced=True))


def is_there(book: ReceiptBook, name: str) -> bool:
    try:
        book.find(name)
    except YaoheError:
        return False
    return True


def test_the_oldest_leaves_when_there_are_too_many() -> None:
    book = ReceiptBook(capacity=2)
    for name in ("a", "b", "c"):
        kept(book, name)
    assert [is_there(book, name) for name in "abc"] == [False, True, True]


def test_the_oldest_leaves_when_their_texts_are_too_long() -> None:
    book = ReceiptBook()
    long = read("好" * 20_000, "zh")
    names = [str(number) for number in range(MAX_CHARACTERS // 20_000 + 1)]
    for name in names:
        book.keep(Receipt(name, long, enforced=True))
    assert [name for name in names if not is_there(book, name)] == ["0"]
    for name in names:
        # The same again takes no more room.
        book.keep(Receipt(name, READING, enforced=True))
    kept(book, "last")
    assert is_there(book, "1")
    assert is_there(book, "last")


def test_a_receipt_is_gone_after_its_time() -> None:
    now = [0.0]
    book = ReceiptBook(keep_s=10, clock=lambda: now[0])
    kept(book, "a")
    now[0] = 11
    assert not is_there(book, "a")
    kept(book, "b")
    assert len(book) == 1


def test_who_never_was_is_not_found() -> None:
    with pytest.raises(YaoheError) as refusal:
        ReceiptBook().find("a")
    assert refusal.value.code == "not_found"
