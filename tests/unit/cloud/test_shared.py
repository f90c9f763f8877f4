"""What box and cloud share at the door: bodies, receipts, lists."""

from __future__ import annotations

import pytest

from common.body import MAX_BODY_BYTES, parse_json
from common.errors import YaoheError
from common.listing import model_body, models_body, voices_body
from common.receipts import ReceiptBook
from common.text import read
from common.text.receipt import Receipt


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"\xff\xfe",
        b"[" * 200_000,
        b'{"input": ' * 20_000,
        b" " * (MAX_BODY_BYTES + 1),
    ],
    ids=lambda raw: repr(raw[:12]),
)
def test_a_body_that_is_no_object_is_an_invalid_request(raw: bytes) -> None:
    with pytest.raises(YaoheError) as refusal:
        parse_json(raw)
    assert refusal.value.code == "invalid_request"


def test_an_object_is_read_with_whatever_it_holds() -> None:
    assert parse_json(b'{"input": "\\ud800", "n": 1e999}')["input"] == "\ud800"


def receipt(name: str) -> Receipt:
    return Receipt(name, read("一号"), enforced=True)


def test_a_receipt_is_found_until_its_time_is_over() -> None:
    now = [0.0]
    book = ReceiptBook(keep_s=10, clock=lambda: now[0])
    book.keep(receipt("a"))
    now[0] = 10
    assert book.find("a").utterance == "a"
    now[0] = 10.1
    with pytest.raises(YaoheError, match="receipt"):
        book.find("a")


def test_old_receipts_make_room() -> None:
    now = [0.0]
    book = ReceiptBook(keep_s=10, capacity=2, clock=lambda: now[0])
    for name in "abc":
        book.keep(receipt(name))
    assert len(book) == 2
    with pytest.raises(YaoheError):
        book.find("a")
    now[0] = 60
    book.keep(receipt("d"))
    assert len(book) == 1


def test_an_unknown_receipt_is_not_found() -> None:
    with pytest.raises(YaoheError) as refusal:
        ReceiptBook().find("never")
    assert refusal.value.code == "not_found"


def test_lists_have_the_shape_that_clients_know() -> None:
    models = models_body()
    assert models["object"] == "list"
    assert models["data"] == [model_body("yaohe")]
    voices = voices_body({"woman": ("zh", "gd"), "man": ("zh",)})
    assert [voice["id"] for voice in voices["data"]] == ["woman", "man"]
    assert voices["data"][0]["dialects"] == ["zh", "gd"]
