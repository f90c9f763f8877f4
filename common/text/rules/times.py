"""Clock times, durations, ratios and scores."""

from __future__ import annotations

import re

from common.text.numbers import spell_integer
from common.text.rules.amounts import NUMBER, amount
from common.text.scan import RuleBook, Scan

_DURATION_BEFORE = re.compile(
    r"(?:剩余|倒计时|时长|还剩|用时|耗时|仅剩|距.{0,6}还有)[:：]?\s?$"
)
_RATIO_BEFORE = re.compile(
    r"(?:比分|比例|比率|比为|之比|比|配比|赔率|定格在|战平|战胜|[大小]胜|稀释|兑水|配兑|混合)[:：为是]?\s?$"
)


_RATIO_AFTER = re.compile(
    r"\s?(?:的?比[例率]|稀释|兑|混合|配比|获胜|战胜|击败|领先|落后|[险完]胜)"
)
_SCORED = re.compile(r"\s?(?:获胜|战胜|击败|力克|领先|落后|[险完大]胜|逆转|战平)")


def hour_word(hour: str) -> str:
    """An hour of the clock with 点."""
    return ("两" if int(hour) == 2 else spell_integer(hour)) + "点"


def clock(hour: str, minute: str) -> str:
    """A clock time in words."""
    if int(minute) == 0:
        return hour_word(hour)
    words = spell_integer(minute)
    if int(minute) < 10:
        words = "零" + words
    return hour_word(hour) + words + "分"


def _half_of_day(mark: str, hour: int) -> str:
    if mark.lower().startswith("a"):
        return "上午" if hour >= 5 else "凌晨"
    return "下午" if hour < 6 or hour == 12 else "晚上"


def _meridiem(match: re.Match[str], state: Scan) -> str | None:
    hour, minute, mark = match[1], match[2] or "00", match[3]
    if int(hour) > 12 or int(minute) > 59 or state.is_english:
        return None
    return _half_of_day(mark, int(hour)) + clock(hour, minute)


def _meridiem_first(match: re.Match[str], state: Scan) -> str | None:
    hour, minute, mark = match[2], match[3] or "00", match[1]
    if int(hour) > 12 or int(minute) > 59 or state.is_english:
        return None
    return _half_of_day(mark, int(hour)) + clock(hour, minute)


def _seconds(match: re.Match[str], state: Scan) -> str | None:
    hour, minute, second = match[1], match[2], match[3]
    if int(minute) > 59 or int(second) > 59:
        return None
    if _DURATION_BEFORE.search(state.before(match.start())) or int(hour) > 24:
        hours = "两" if int(hour) == 2 else spell_integer(hour)
        head = f"{hours}小时" if int(hour) else ""
        return f"{head}{spell_integer(minute)}分{spell_integer(second)}秒"
    return f"{hour_word(hour)}{spell_integer(minute)}分{spell_integer(second)}秒"


def _duration(match: re.Match[str], state: Scan) -> str:
    hours = "两" if match[1] == "2" else spell_integer(match[1])
    return f"{hours}小时{spell_integer(match[2])}分钟"


def _time(match: re.Match[str], state: Scan) -> str | None:
    hour, minute = match[1], match[2]
    if int(hour) > 24 or int(minute) > 59:
        return None
    if _RATIO_AFTER.match(state.after(match.end())):
        return None
    if state.context == "ratio" or _RATIO_BEFORE.search(state.before(match.start())):
        return None
    return clock(hour, minute)


def _ratio(match: re.Match[str], state: Scan) -> str:
    parts = re.split(r"\s?[:：∶]\s?", match[0])
    return "比".join(
        spell_integer(p) if "." not in p else amount(state, p, 0, 0) for p in parts
    )


def _score(match: re.Match[str], state: Scan) -> str | None:
    before = re.search("比分[:：为是]?$", state.before(match.start()))
    if not before and not _SCORED.match(state.after(match.end())):
        return None
    return f"{spell_integer(match[1])}比{spell_integer(match[2])}"


def _spoken_clock(match: re.Match[str], state: Scan) -> str | None:
    if int(match[1]) > 24 or int(match[2]) > 59:
        return None
    minute = match[2]
    words = spell_integer(minute)
    if len(minute) == 2 and minute[0] == "0":
        words = "零" + words
    return f"{hour_word(match[1])}{words}"


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    half = r"\s?([AaPp]\.?[Mm]\.?)(?![A-Za-z])"
    first = r"([AaPp]\.?[Mm]\.?)\s?(\d{1,2})(?:[:：]([0-5]\d)|(?=点))(?!\d)"
    add("time.meridiem", "d", r"(\d{1,2})(?::([0-5]\d))?" + half)(_meridiem)
    first = r"([AaPp]\.?[Mm]\.?)\s?(\d{1,2})(?:[:：]([0-5]\d)(?!\d)|(?=点))"
    add("time.meridiem", "l", first)(_meridiem_first)
    add("time.duration", "d", r"(\d{1,2})h\s?(\d{1,2})(?:min|m)(?![A-Za-z])")(_duration)
    add("time.seconds", "d", r"(\d{1,3}):(\d{2}):(\d{2})(?!\d)")(_seconds)
    add("time.clock", "d", r"(\d{1,2})[:：](\d{2})(?![\d:]|\.\d)")(_time)
    add("time.clock", "d", r"(\d{1,2})点(\d{1,2})(?![\d元折块件份位名个人倍%]|\.\d)")(
        _spoken_clock
    )
    add("ratio", "d", r"(\d{1,3})\s?[-–]\s?(\d{1,3})(?![\d.])")(_score)
    add("ratio", "d", NUMBER + r"(?:\s?[:：∶]\s?" + NUMBER + r")+(?!\d)")(_ratio)
