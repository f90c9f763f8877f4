"""Signs that must be seen before numbers: control tokens, minus, plus, addresses."""

from __future__ import annotations

import re

from common.text.numbers import spell_digits, spell_number
from common.text.rules.amounts import NUMBER, TO, pair_word, plain, to_word
from common.text.say_as import speak
from common.text.scan import RuleBook, Scan, Token

_ENGINE_MARK = (
    r"\[(?:uv_break|v_break|lbreak|llbreak|[SE]break|Ebreak|Stts|Ptts|Etts|spk_emb|empty_spk|"
    r"undefine|mixed|Sasr|Easr|Pasr|music|pure|laugh|(?:laugh|oral|break|speed)_\d+)\]"
)
_URL = (
    r"(?:https?://)?(?:[A-Za-z0-9_.+-]{1,64}@)?(?:[A-Za-z0-9-]{1,63}\.){1,8}"
    r"(?:com|cn|net|org|io|shop|top|info|me|hk|gov|edu|co|app|vip|store|tv|cc)(?:\.[a-z]{2})?"
    r"(?![A-Za-z0-9])(?:/[A-Za-z0-9_./?=&%#-]*)?"
)
_SPOKEN_SIGNS = {
    ".": "点",
    "/": "斜杠",
    "-": "杠",
    ":": "冒号",
    "_": "下划线",
    "@": "艾特",
    "?": "问号",
    "=": "等于",
    "&": "和",
    "%": "百分号",
    "#": "井号",
    "+": "加",
}


def _control(match: re.Match[str], state: Scan) -> Token:
    return Token(match.start(), match.end(), "", "silent.control_token")


def _asked(match: re.Match[str], state: Scan) -> str | None:
    if not state.context or re.search(r"[\d¥$]$", state.before(match.start(), 1)):
        return None
    return speak(match[0], state.context, state.dialect)


def _url(match: re.Match[str], state: Scan) -> str:
    text = re.sub(r"^https?://", "", match[0]).rstrip("/")
    words: list[str] = []
    for part in re.findall(r"[A-Za-z]+|\d+|.", text):
        if part.isdigit():
            words.append(spell_digits(part))
        elif part.isalpha():
            words.append(part)
        else:
            words.append(_SPOKEN_SIGNS.get(part, ""))
    return "".join(words)


_AFTER_QUANTITY = re.compile(
    r"(?:\d[A-Za-z]{0,3}|\d[一-龥]{1,3}|[A-Za-z%℃㎡)）]|[日号月年点分折元])\s?$"
)
_MEASURED = re.compile("(?:[温度值为是约至到达差余额]|零下)$")
_TEMPERATURE = re.compile(
    r"\s?(?:℃|°|度|摄氏)|\s?[-~～—–至到]\s?-?\d+(?:\.\d+)?\s?(?:℃|°)"
)


def _is_sign(match: re.Match[str], state: Scan) -> bool:
    """Whether a dash before a number is its sign and joins nothing."""
    return not _AFTER_QUANTITY.search(state.before(match.start(), 6))


def _minus(match: re.Match[str], state: Scan) -> str | Token | None:
    if not _is_sign(match, state):
        return None
    before, after = state.before(match.start(), 4), state.after(match.end(), 4)
    joins = re.search("[一-龥]$", before) and not _MEASURED.search(before)
    if joins and not (_TEMPERATURE.match(after) or re.match("[楼层]", after)):
        # 草莓-9.9元: a dash that parts; no shop has a negative price.
        return Token(match.start(), match.start() + 1, "，", "pause", ",")
    said = spell_number(plain(match[1]), pair=pair_word(state))
    return ("零下" if _TEMPERATURE.match(state.after(match.end())) else "负") + said


def _temperature(match: re.Match[str], state: Scan) -> str | None:
    if not _is_sign(match, state):
        return None
    return f"零下{spell_number(plain(match[1]), pair=pair_word(state))}摄氏度"


def _through_zero(match: re.Match[str], state: Scan) -> str | None:
    if not _is_sign(match, state):
        return None
    low, high = (
        spell_number(plain(part), pair=pair_word(state))
        for part in (match[1], match[3])
    )
    return f"零下{low}{to_word(match, state)}零上{high}摄氏度"


def _basement(match: re.Match[str], state: Scan) -> str | None:
    if not _is_sign(match, state):
        return None
    return "负" + spell_number(match[1]) + "楼"


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    free = r"(?![\d.]|\s?[元块折%℃倍米斤个件克升年月日点kgmlKGML])"
    add("context", "d", r"\d{1,4}(?:[./]\d{1,2}){1,2}" + free)(_asked)
    add("context", "d", r"\d{3,}" + free)(_asked)
    add("silent.control_token", "s", _ENGINE_MARK)(_control)
    add("url", "dl", _URL)(_url)
    add("brand", "d", r"7-(?:11|ELEVEN|Eleven|eleven)(?=\s?(?:便利|店|超市|门店|$))")(
        lambda match, state: "seven eleven"
    )
    add("floor.basement", "s", r"[-−－]([1-9])F(?![A-Za-z])")(_basement)
    degrees = r"\s?(?:℃|°C|摄氏度|度)"
    add(
        "temperature.range",
        "s",
        rf"[-−]\s?({NUMBER})(?:{degrees})?{TO}({NUMBER}){degrees}",
    )(_through_zero)
    add("temperature", "s", rf"[-−－]\s?({NUMBER})\s?(?:℃|°C)")(_temperature)
    add("number.negative", "s", rf"[-−－]({NUMBER})(?!\d|%)")(_minus)
