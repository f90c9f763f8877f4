"""The reading rules in their order; :data:`BOOK` is what the scanner asks.

Order is meaning: codes and phones before dates, dates before clock times, those before
money, quantities and bare numbers; signs and Latin after. A rule is one function with a
stable name that the receipt shows.
"""

from __future__ import annotations

from common.text.rules import (
    codes,
    dates,
    english,
    latin,
    money,
    quantity,
    times,
)
from common.text.rules.signs import (
    connectors,
    early,
    math,
    numerals,
    pauses,
    silent,
)
from common.text.scan import RuleBook

BOOK = RuleBook()
"""Rules for Chinese, and for Latin words and numbers inside it."""
early.register(BOOK)
numerals.register_fractions(BOOK)
codes.register(BOOK)
dates.register(BOOK)
codes.register_groups(BOOK)
for _room in (times, money, quantity, connectors, math, latin, numerals, pauses):
    _room.register(BOOK)
silent.register(BOOK)

ENGLISH = RuleBook()
"""Rules for sentences that are English altogether."""
for _room in (english, early, latin, math, numerals, connectors, pauses, silent):
    _room.register(ENGLISH)

__all__ = ["BOOK", "ENGLISH"]
