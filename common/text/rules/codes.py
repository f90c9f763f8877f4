"""Phones, codes, plates and versions: numbers that are names, read digit by digit."""

from __future__ import annotations

import re

from common.text.numbers import DIGITS, spell_digits, spell_integer
from common.text.scan import RuleBook, Scan

_PHONE_WORDS = (
    "电话 热线 致电 拨打 请打 来电 专线 手机 手机号 客服 座机 传真 分机 总机 转 拨 打 "
    "报警 急救 火警 咨询 订餐 预约 访问 投诉 举报 号码 呼叫 发送到 发送至 短信 发至 "
    "联系 微信 微信号 联系人 内线 短号 TEL Tel tel 热线电话 服务台"
).split()
_CODE_WORDS = (
    "验证码 校验码 动态码 取件码 取货码 提货码 取餐码 兑换码 核销码 邀请码 激活码 密码 "
    "口令 编号 编码 单号 订单 订单号 运单号 流水号 房间号 房号 房间 邮编 邮政编码 工号 "
    "卡号 账号 帐号 尾号 车牌 车牌号 QQ QQ号 QQ群 学号 工牌号 批号 批次 序列号 "
    "货号 款号 "
    "型号 航班 航班号 车次 列车 身份证 身份证号 证号 许可证 备案号 ID 代码 条码 会员号 "
    "储物柜 快递 优惠码 券码 兑换券码 识别码"
).split()


_PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"


def _ending(words: list[str], tail: str) -> re.Pattern[str]:
    names = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    return re.compile(f"(?:{names}){tail}$")


_TAIL = r"(?:号码|号)?(?:[:：是为]|请按)?[\s(（]*"
_LIST = r"(?:[\d\s-]{3,20}[、或和/及,，]\s?)*"
_PHONE_BEFORE = _ending(_PHONE_WORDS, _TAIL + _LIST)
_CODE_BEFORE = _ending(_CODE_WORDS, _TAIL + r"(?:[A-Za-z]{1,4}[-·]?)?")
_NOT_COUNTED = (
    r"(?!\d|\.\d|[,，]\d{3}|\s?(?:[元块件个份万亿千%￥米号天年月日折倍度分]|人(?!工)))"
)


def _phone(match: re.Match[str], state: Scan) -> str:
    one = "一" if state.dialect == "gd" else "幺"
    plus = "加" if match[0].startswith("+") else ""
    return plus + spell_digits(match[0], one=one)


def _not_inside_number(match: re.Match[str], state: Scan) -> bool:
    before = state.before(match.start(), 2)
    return not re.search(r"\d[.,-]?$", before)


def _whole_phone(match: re.Match[str], state: Scan) -> str | None:
    return _phone(match, state) if _not_inside_number(match, state) else None


def _short_phone(match: re.Match[str], state: Scan) -> str | None:
    if not _PHONE_BEFORE.search(state.before(match.start(), 32)):
        return None
    return _phone(match, state)


def _hong_kong(match: re.Match[str], state: Scan) -> str | None:
    return _whole_phone(match, state) if state.dialect == "gd" else None


def _extension(match: re.Match[str], state: Scan) -> str | None:
    if not re.search(r"\d\s?转\s?$", state.before(match.start(), 4)):
        return None
    return _phone(match, state)


def _emergency(match: re.Match[str], state: Scan) -> str:
    return _phone(match, state)


def _code(match: re.Match[str], state: Scan) -> str | None:
    before = state.before(match.start())
    if not _CODE_BEFORE.search(before):
        return None
    return spell_digits(match[0])


def _long(match: re.Match[str], state: Scan) -> str | None:
    if re.fullmatch(r"[1-9]\d{0,2}0{5,}", match[0]):
        return None
    return spell_digits(match[0])


def _plate(match: re.Match[str], state: Scan) -> str:
    return match[1] + "".join(
        DIGITS[int(c)] if c.isdigit() else c for c in match[2].upper()
    )


def _plate_digits(match: re.Match[str], state: Scan) -> str | None:
    before = state.before(match.start(), 4)
    if re.search(rf"[{_PROVINCES}][A-Z][·.\- ]?$", before):
        return "".join(DIGITS[int(c)] if c.isdigit() else c for c in match[0])
    return None


def _address(match: re.Match[str], state: Scan) -> str:
    return "点".join(spell_digits(part) for part in match[0].split("."))


def _version(match: re.Match[str], state: Scan) -> str:
    return "点".join(spell_integer(part) for part in match[0].split("."))


def _standard(match: re.Match[str], state: Scan) -> str:
    name = re.sub("[^A-Z]", "", match["name"])
    said = "点".join(spell_digits(part) for part in match["number"].split("."))
    year = f"杠{spell_digits(match['year'])}" if match["year"] else ""
    return name + said + year


def _groups(match: re.Match[str], state: Scan) -> str | None:
    return "杠".join(spell_digits(part) for part in match[0].split("-"))


def _model(match: re.Match[str], state: Scan) -> str | None:
    if re.match(r"\s?(?:V|W|Hz|kW|A)(?![A-Za-z])", state.after(match.end(), 4)):
        return None
    before = state.before(match.start(), 6)
    if re.search(r"(?<![A-Za-z])[A-Z][A-Za-z]{0,3}-?$", before):
        return spell_digits(match[0])
    return None


def _queue(match: re.Match[str], state: Scan) -> str | None:
    before = state.before(match.start(), 6)
    if re.search(r"[A-Za-z][-·]?$", before) and not re.search(
        r"[A-Za-z]{2}[-·]?$", before
    ):
        return spell_digits(match[0])
    return None


def _zeros(match: re.Match[str], state: Scan) -> str | None:
    return spell_digits(match[0])


def _room(match: re.Match[str], state: Scan) -> str | None:
    before, after = state.before(match.start(), 4), state.after(match.end(), 4)
    housed = re.search(r"(?:单元|[栋幢座楼])\s?-?$", before)
    if housed or re.match(
        r"\s?(?:室|号房|房(?![价费间])|包厢|包间|教室|会议室|病房|诊室)", after
    ):
        return spell_digits(match[0])
    return None


def register(book: RuleBook) -> None:
    """Add these rules to the book."""
    add = book.rule
    add(
        "phone.international",
        "s",
        r"\+\d{1,3}[- ]?\(?\d{2,4}\)?(?:[- ]?\d{3,4}){2,3}(?!\d)",
    )(_phone)
    add("phone.international", "d", r"0086[- ]?1\d{2}[- ]?\d{4}[- ]?\d{4}(?!\d)")(
        _phone
    )
    add("phone.mobile", "d", r"1[3-9]\d(?:[- ]?\d{4}){2}(?!\d)")(_whole_phone)
    add("phone.landline", "d", r"0\d{2,3}[- —]\d{3,4}[- ]?\d{4}(?:-\d{1,5})?(?!\d)")(
        _whole_phone
    )
    add("phone.landline", "s", r"[(（]0\d{2,3}[)）][- ]?\d{3,4}[- ]?\d{4}(?!\d)")(
        _phone
    )
    add("phone.service", "d", r"[48]00[- ]?\d{3}[- ]?\d{4}(?!\d)")(_whole_phone)
    add("phone.service", "d", r"[48]00[- ]\d{4}[- ]\d{3}(?!\d)")(_whole_phone)
    add("phone.short", "d", r"\d{3,}(?:[- ]\d{3,})*" + _NOT_COUNTED)(_short_phone)
    add(
        "phone.short",
        "d",
        r"(?:12306|123[0-9]{2}|100(?:86|10|00)|95\d{3}|955\d{2})"
        + _NOT_COUNTED
        + r"(?=[热客服人咨]|$)",
    )(_whole_phone)
    add(
        "code.standard",
        "l",
        r"(?P<name>(?:GB|ISO|IEC|DB|QB|SB|NY|HJ|JB|YY|LY|HG|QC|TCAS|Q|DIN|ANSI|EN)"
        r"(?:/[A-Z]{1,4})?)[ -]?(?P<number>\d{3,6}(?:\.\d+)?)(?:[-—](?P<year>\d{4}))?"
        r"(?![\dA-Za-z])",
    )(_standard)
    add("phone.hongkong", "d", r"[2-9]\d{3}[ -]\d{4}(?!\d)")(_hong_kong)
    add("phone.extension", "d", r"\d{1,5}(?!\d)")(_extension)
    add(
        "phone.emergency",
        "d",
        r"(?:110|119|120|122)(?=\s?(?:报警|火警|急救|救护|救援))",
    )(_emergency)
    add("code.address", "d", r"\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")(_address)
    add("code.version", "d", r"\d{1,3}(?:\.\d{1,3}){2}(?![\d.])")(_version_only)
    add("code.plate", "d", r"[0-9A-Z]{5,6}(?![0-9A-Za-z])")(_plate_digits)
    add("code.keyword", "d", r"\d{3,}(?!\d|\.\d|[元块%])")(_code)
    add("code.room", "d", r"\d{3,4}(?!\d|\.\d)")(_room)
    add("code.model", "d", r"\d{3,}(?!\d|\.\d|[,，]\d{3}|[元块%])")(_model)
    add("code.queue", "d", r"0\d+(?!\d|[.:])")(_queue)
    add("code.zeros", "d", r"0\d+(?!\d|[.:/年月日])")(_zeros)
    add("code.long", "d", r"\d{8,}(?!\d|\.\d|\s?[元块人件个份万亿千%￥米])")(_long)


def _version_only(match: re.Match[str], state: Scan) -> str | None:
    first = int(match[0].split(".")[0])
    if (
        re.search(
            r"(?:[Vv]|版本|系统|软件|固件)[:： ]?$", state.before(match.start(), 6)
        )
        or first < 100
    ):
        return _version(match, state)
    return None


def register_groups(book: RuleBook) -> None:
    """Add the rule for groups of digits, which dates must have seen before."""
    book.rule("code.groups", "d", r"\d{1,6}(?:-\d{1,6}){2,}(?![\d.])")(_groups)
