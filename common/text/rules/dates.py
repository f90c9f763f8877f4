"""Dates, years and festivals."""

from __future__ import annotations

import math
import re

from common.text.numbers import spell_digits, spell_integer
from common.text.rules.amounts import TO, to_word
from common.text.scan import RuleBook, Scan

_DATE_AFTER = re.compile(
    r"\s?(?:当[天日]|[日号]|起|止|开[业抢售播幕]|前|后|截止|结束|上[市线]|至|到|[-~～—–]\d|[(（]?周|[(（]?星期|[一-龥]{0,2}节|圣诞|元旦|中秋|端午|国庆|除夕|平安夜)"
)
_DATE_BEFORE = re.compile(
    r"(?:截止|截至|日期|时间|活动|于|自|从|至|到|有效期|[-~～—–])[:：]?\s?$"
)
_FEASTS = (
    "教师节|母亲节|父亲节|儿童节|妇女节|护士节|青年节|劳动节|建[党军]节?|元旦|中秋|端午|清明|圣诞|"
    "除夕|平安夜|国庆|情人节|重阳|七夕|腊八|元宵|春节|读书日|消费者|世界[一-龥]{1,4}日"
)
_FESTIVAL_AFTER = re.compile(
    rf"\s?(?:{_FEASTS}|年[中终]|大促|狂欢|购物|盛[典惠]|浪漫|献礼|女[王神]|返场|预售|特卖|钜惠|放价|"
    r"活动(?!价)|嗨购|开门红|告白|表白|年货|抢先购|超级[会品星狂]|会员[日节]|品牌[日节]|"
    r"大[放惠聚牌]|疯[抢狂]|来[了袭]|全球|当天|期间|预热|[一-龥]{0,2}节)"
)
FIRST_YEAR, LAST_YEAR = 1000, 2199
"""Four digits before 年 are a year between these, else an amount of years."""
_DOTTED_BEFORE = re.compile(
    r"(?:时间|日期|活动|期间|档期|假期|放假|有效期|限时|截止|截至|[一-龥]节|国庆|中秋|春节|元旦|五一|端午|清明)[:：为]?\s?$"
)
_DOT_BEFORE = re.compile("(?:日期|截止|截至|有效期至?|[一-龥]节)[:：为到于]?\\s?$")
_DOTTED_AFTER = re.compile(
    r"\s?(?:期间|活动|放假|国庆|五一|春节|元旦|假期|截止|限时|有效)"
)
_SALE_AFTER = re.compile(
    r"\s?(?:年[中终]|大促|狂欢|购物|盛[典惠]|特卖|返场|预售|会员|品牌|超级|钜|大|嗨|疯|告白|表白)"
)
_FESTIVALS = {
    "6.18": "六一八",
    "5.20": "五二零",
    "3.15": "三一五",
    "11.11": "双十一",
    "12.12": "双十二",
    "9.9": "九九",
    "8.8": "八八",
    "3.8": "三八",
    "10.1": "十一",
    "5.1": "五一",
    "6.1": "六一",
}


def _is_date(month: str, day: str) -> bool:
    return 1 <= int(month) <= 12 and 1 <= int(day) <= 31


def _day(number: str) -> str:
    return spell_integer(number)


def _full(match: re.Match[str], state: Scan) -> str | None:
    year, month, day = match[1], match[3], match[4]
    if not _is_date(month, day):
        return None
    return f"{spell_digits(year)}年{_day(month)}月{_day(day)}日"


def _short_full(match: re.Match[str], state: Scan) -> str | None:
    # 26/12/25: only where the first number can be no month.
    if int(match[1]) <= 12 or (
        match[2] == "." and not _DATE_AFTER.match(state.after(match.end()))
    ):
        return None
    return _full(match, state)


def _year_month_day(match: re.Match[str], state: Scan) -> str | None:
    return spell_digits(match[1]) + "年"


def _year(match: re.Match[str], state: Scan) -> str | None:
    if re.match(
        r"的?(?:历史|老|以?[上内来]|前|后|古|传承|质保)", state.after(match.end())
    ):
        return None
    if not FIRST_YEAR <= int(match[1]) <= LAST_YEAR:
        return None
    if re.search(
        r"(?:[距近约超有达逾满]|距今|历经|已有)\s?$", state.before(match.start(), 3)
    ):
        return None
    return spell_digits(match[1]) + "年"


def _years(match: re.Match[str], state: Scan) -> str:
    between = to_word(match, state)
    return spell_digits(match[1]) + between + spell_digits(match[3])


def _short_year(match: re.Match[str], state: Scan) -> str:
    return spell_digits(match[1]) + "年"


def _month_day(match: re.Match[str], state: Scan) -> str | None:
    if not _is_date(match[1], match[2]):
        return None
    return f"{_day(match[1])}月{_day(match[2])}{match[3]}"


def _month(match: re.Match[str], state: Scan) -> str | None:
    return _day(match[1]) + "月" if 1 <= int(match[1]) <= 12 else None


def _slash(match: re.Match[str], state: Scan) -> str | None:
    month, day = match[1], match[2]
    if not _is_date(month, day) or state.before(match.start(), 1) == "/":
        return None
    after = state.after(match.end())
    dated = (
        state.context == "date"
        or _DATE_AFTER.match(after)
        or _DATE_BEFORE.search(state.before(match.start()))
        or (int(month) >= int(day) and (month, day) != ("24", "7"))
        or math.gcd(int(month), int(day)) > 1
    )
    return f"{_day(month)}月{_day(day)}日" if dated else None


def _festival(match: re.Match[str], state: Scan) -> str | None:
    if re.search(r"[¥$价需售要卖花省减付仅]$", state.before(match.start(), 1)):
        return None
    named = _DOT_BEFORE.search(state.before(match.start()))
    if "." in match[0] and not (
        named or _FESTIVAL_AFTER.match(state.after(match.end()))
    ):
        return None
    month, day = re.split("[.·]", match[0])
    if not _is_date(month, day):
        return None
    known = _FESTIVALS.get(f"{month}.{day}")
    if known is None and not _SALE_AFTER.match(state.after(match.end())):
        return f"{_day(month)}月{_day(day)}日"
    if known:
        return (
            known[1:]
            if known[0] == "双" and state.before(match.start(), 1) == "双"
            else known
        )
    return spell_digits(month + day)


def _undotted(match: re.Match[str], state: Scan) -> str | None:
    if re.search(r"[¥$\d.]$", state.before(match.start(), 1)):
        return None
    known = {"1111": "双十一", "1212": "双十二"}.get(match[0])
    doubled = state.before(match.start(), 1) == "双"
    return known if known and not doubled else spell_digits(match[0])


def _dotted(match: re.Match[str], state: Scan) -> str | None:
    one, two = (match[1], match[2]), (match[4], match[5])
    if not (_is_date(*one) and _is_date(*two)):
        return None
    if not (
        state.context == "date"
        or _DOTTED_BEFORE.search(state.before(match.start()))
        or _DOTTED_AFTER.match(state.after(match.end()))
    ):
        return None
    first, second = (f"{_day(m)}月{_day(d)}日" for m, d in (one, two))
    return first + to_word(match, state) + second


def _bare_year(match: re.Match[str], state: Scan) -> str:
    return spell_digits(match[1])


def _founded(match: re.Match[str], state: Scan) -> str | None:
    if re.search(
        r"(?:[始创建源立]于|源自|[Ss]ince|SINCE|EST\.?)\s?$",
        state.before(match.start(), 6),
    ):
        return spell_digits(match[1])
    return None


def _bare_years(match: re.Match[str], state: Scan) -> str | None:
    between = to_word(match, state)
    return spell_digits(match[1]) + between + spell_digits(match[3])


def _decade(match: re.Match[str], state: Scan) -> str:
    return spell_digits(match[1]) + "后"


def _decades(match: re.Match[str], state: Scan) -> str:
    return spell_digits(match[1])


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    add("date.full", "d", r"((?:19|20)\d{2})([-/.])(\d{1,2})\2(\d{1,2})(?![\d.]|-\d)")(
        _full
    )
    add("date.full", "d", r"(\d{2})([/.])(\d{1,2})\2(\d{1,2})(?![\d./])")(_short_full)
    add("date.years", "d", rf"([12]\d{{3}}){TO}([12]\d{{3}})(?=学?年|赛季|财年)")(
        _years
    )
    add("date.year", "d", r"(\d{4})年(?=\s?\d{1,2}月)")(_year_month_day)
    add("date.year", "d", r"(\d{4})年")(_year)
    add(
        "date.year_short",
        "d",
        r"(\d{2})年(?=\s?(?:\d{1,2}月|[春夏秋冬]|新款|第?[一二三四1-4]季度|[上下]半年|度))",
    )(_short_year)
    add("date.month_day", "d", r"(\d{1,2})月\s?(\d{1,2})([日号])")(_month_day)
    add(
        "date.year_bare",
        "d",
        r"((?:19|20)\d{2})(?=新[年春款品]|跨年|届|赛季|[春夏秋冬]|款|校招|世[界博]|中国|"
        r"[上下]半年|第[一二三四1-4]季)",
    )(_bare_year)
    uncounted = r"(?!\d|\s?[年元块个人件份米名家款种只台%]|\.\d)"
    add("date.year_bare", "d", r"((?:1\d|20)\d{2})" + uncounted)(_founded)
    add("date.month", "d", r"(\d{1,2})月")(_month)
    add("date.slash", "d", r"(\d{1,2})/(\d{1,2})(?![\d/.])")(_slash)
    add(
        "date.festival", "d", r"\d{1,2}[.·]\d{1,2}(?!\d|\.|元(?!旦)|[-~～—–至到]\s?\d)"
    )(_festival)
    add(
        "date.dots",
        "d",
        rf"(\d{{1,2}})\.(\d{{1,2}}){TO}(\d{{1,2}})\.(\d{{1,2}})(?![\d.元])",
    )(_dotted)
    bare = r"(?!\d|\s?[元块个人件份米克户家名款种只台]|\.\d)"
    add("date.years", "d", rf"((?:19|20)\d{{2}}){TO}((?:19|20)\d{{2}}){bare}")(
        _bare_years
    )
    add(
        "date.festival",
        "d",
        r"(?:618|520|521|315|818|1111|1212|1010|38|99|88|66|77|55)"
        r"(?=大促|狂欢|购物节|女[王神]|节|划算节|年中|表白|告白|大放价|盛典|品质节|消费者)",
    )(_undotted)
    add("date.decade", "d", r"([0-9][05])后(?![面天台来续退才再])")(_decade)
    add("date.decade", "d", r"([0-9][05])(?=、\s?[0-9][05]后)")(_decades)
