"""The reading rules in their order; :data:`BOOK` is what the scanner asks.

Order is meaning: codes and phones before dates, dates before clock times, those before
money, quantities and bare numbers; signs and Latin after. A rule is one function with a
stable name that the receipt shows.
"""

from __future__ import annotations

from common.text.rules import codes, dates, latin, money, quantity, signs, times
from common.text.scan import RuleBook

BOOK = RuleBook()
for _room in (signs.early, codes, dates, times, money, quantity, latin, signs.late):
    _room.register(BOOK)

__all__ = ["BOOK"]
