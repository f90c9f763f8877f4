"""Counters and units: what a 2 is called before them and how units are said."""

from __future__ import annotations

import re

_PAIRED = (
    "个月 个半 小时 分钟 平方米 平方公里 平方厘米 立方米 公里 千米 公斤 千克 毫克 毫升 "
    "厘米 毫米 平米 公分 海里 英寸 英尺 摄氏度 美元 港元 港币 欧元 英镑 日元 韩元 澳元 "
    "加元 泰铢 卢布 人民币 "
    "件 位 只 个 瓶 份 包 盒 箱 杯 张 条 台 套 双 次 种 款 桌 人 间 倍 天 年 秒 周 块 "
    "元 圆 蚊 米 斤 克 升 支 枝 把 袋 桶 串 片 颗 粒 朵 本 辆 架 头 匹 棵 根 名 场 遍 "
    "趟 顿 餐 碗 盘 碟 壶 听 罐 卷 捆 组 轮 对 盏 面 首 部 门 项 则 家 户 道 步 口 "
    "身 世 国 岁 成 尺 亩 吨 毛 角 点 刻 万 千 百 亿 页 格 圈 大 小时 大类 室 房 厅 卫 "
    "篮 筐 笼 煲 锅 扎 提 排 板 打 尾 座 栋 艘 封 幅 枚 滴 节 样 重 边 端 侧 "
    "晚 夜 平方 "
    "荤 素 肉 菜 程 站 课 班 科 局 盘 局 招 类 色 味 拼 层 店 城 省 市 区 县 "
    "个 度 伏 瓦 安 帧 兆 字 题 人份"
).split()

_PLAIN = (
    "号 号楼 号线 号店 楼 层 栋 幢 单元 排 座 级 期 月 日 路 线 章 节 册 版 代 区 "
    "环 维 "
    "街 中 巷 弄 院 季度 班 年级 次元 两 等 等奖 等座 厅 段 档 折 寸 手 度 会议 室 胎 "
    "星 流 线 股 炮 档 队 班 栏 柜 门诊 诊室 舱 车间 车厢 车 站台 航站楼 "
    "大道 大街 比 分之"
).split()

PAIRED = tuple(sorted(set(_PAIRED) - set(_PLAIN), key=len, reverse=True))
PLAIN = tuple(sorted(set(_PLAIN), key=len, reverse=True))

LATIN_UNITS: dict[str, str] = {
    "km/h": "公里每小时",
    "Km/h": "公里每小时",
    "KM/H": "公里每小时",
    "r/min": "转每分钟",
    "m/s": "米每秒",
    "kWh": "千瓦时",
    "kwh": "千瓦时",
    "kW·h": "千瓦时",
    "mAh": "毫安时",
    "mah": "毫安时",
    "MAH": "毫安时",
    "Ah": "安时",
    "Wh": "瓦时",
    "mA": "毫安",
    "mV": "毫伏",
    "kV": "千伏",
    "KV": "千伏",
    "kW": "千瓦",
    "KW": "千瓦",
    "kw": "千瓦",
    "MW": "兆瓦",
    "mW": "毫瓦",
    "kVA": "千伏安",
    "km²": "平方公里",
    "km2": "平方公里",
    "cm²": "平方厘米",
    "cm2": "平方厘米",
    "mm²": "平方毫米",
    "mm2": "平方毫米",
    "m²": "平方米",
    "m2": "平方米",
    "m³": "立方米",
    "m3": "立方米",
    "cm³": "立方厘米",
    "cm3": "立方厘米",
    "dm³": "立方分米",
    "km": "公里",
    "KM": "公里",
    "Km": "公里",
    "cm": "厘米",
    "CM": "厘米",
    "mm": "毫米",
    "MM": "毫米",
    "dm": "分米",
    "μm": "微米",
    "um": "微米",
    "nm": "纳米",
    "m": "米",
    "kg": "公斤",
    "KG": "公斤",
    "Kg": "公斤",
    "mg": "毫克",
    "μg": "微克",
    "ug": "微克",
    "g": "克",
    "t": "吨",
    "ml": "毫升",
    "mL": "毫升",
    "ML": "毫升",
    "dL": "分升",
    "dl": "分升",
    "l": "升",
    "L": "升",
    "h": "小时",
    "hr": "小时",
    "hrs": "小时",
    "min": "分钟",
    "mins": "分钟",
    "s": "秒",
    "sec": "秒",
    "ms": "毫秒",
    "dB": "分贝",
    "db": "分贝",
    "Hz": "赫兹",
    "kHz": "千赫",
    "KHz": "千赫",
    "MHz": "兆赫",
    "GHz": "吉赫",
    "V": "伏",
    "W": "瓦",
    "Pa": "帕",
    "hPa": "百帕",
    "kPa": "千帕",
    "MPa": "兆帕",
    "kcal": "千卡",
    "Kcal": "千卡",
    "cal": "卡",
    "kJ": "千焦",
    "KJ": "千焦",
    "J": "焦",
    "mmHg": "毫米汞柱",
    "mol": "摩尔",
    "mmol": "毫摩尔",
    "lm": "流明",
    "lx": "勒克斯",
    "rpm": "转每分钟",
    "lb": "磅",
    "lbs": "磅",
    "oz": "盎司",
    "ft": "英尺",
    "in": "英寸",
    "inch": "英寸",
    "bar": "巴",
    "Ω": "欧姆",
    "kΩ": "千欧",
}

SIGN_UNITS: dict[str, str] = {
    "℃": "摄氏度",
    "°C": "摄氏度",
    "°c": "摄氏度",
    "˚C": "摄氏度",
    "º C": "摄氏度",
    "℉": "华氏度",
    "°F": "华氏度",
    "°": "度",
    "˚": "度",
    "㎡": "平方米",
    "㎥": "立方米",
    "㎞": "公里",
    "㎝": "厘米",
    "㎜": "毫米",
    "㎏": "公斤",
    "㎎": "毫克",
    "㎖": "毫升",
    "㏄": "毫升",
    "㎢": "平方公里",
    "㎠": "平方厘米",
    "Ω": "欧姆",
}

_UNIT_NAMES = sorted((*LATIN_UNITS, *SIGN_UNITS), key=len, reverse=True)
UNIT = "(?:" + "|".join(re.escape(name) for name in _UNIT_NAMES) + ")"
"""A measuring unit; guarded so that it never ends inside a Latin word."""
GUARD = r"(?![A-Za-zµμ²³0-9])"
HAN_UNIT = (
    "(?:"
    + "|".join(PAIRED)
    + "|次|晚|夜|席|盆|柜|票|月|日|时|季|期|班|分|场次|平|车|号|宿|节|课时|层)"
)
"""A Chinese counter, as after the slash of a unit price."""

_PAIR = re.compile("(?:" + "|".join(PAIRED) + ")")
_ORDINAL = re.compile("(?:" + "|".join(PLAIN) + ")")


def unit_word(unit: str) -> str:
    """The word for a Latin or sign unit."""
    return LATIN_UNITS.get(unit) or SIGN_UNITS[unit]


COUNTED_BY_SLASH = frozenset(
    "g kg mg ml mL ML L l m km cm m² m2 ㎡ m³ m3 h min s t oz lb".split()
)
"""Units that an amount after a slash may have, as in 每100克."""


def takes_pair(after: str) -> bool:
    """Whether a bare 2 in front of this text is ``两``."""
    ordinal = _ORDINAL.match(after)
    paired = _PAIR.match(after)
    if ordinal and (paired is None or len(ordinal[0]) >= len(paired[0])):
        return False
    return paired is not None
