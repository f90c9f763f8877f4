"""A hundred common sentences, spoken before the engine says that it is ready.

They take every path and every size of batch once, so that the first caller does not pay
for memory that is touched for the first time. Nobody hears them.
"""

from __future__ import annotations

from itertools import product

_OPENINGS = (
    "欢迎光临",
    "今日特价",
    "温馨提示",
    "亲爱的顾客朋友",
    "会员专享",
    "限时优惠",
    "新品上市",
    "请注意",
    "您好",
    "最后一天",
)
_MESSAGES = (
    "全场八折，送完即止。",
    "鸡蛋三块九毛八一斤。",
    "请看管好您的随身物品。",
    "请到三号窗口取餐。",
    "本店将于晚上十点打烊。",
    "第二件半价。",
    "扫码可以领取优惠券。",
    "请保管好您的小票。",
    "新鲜水果刚刚到店。",
    "祝您购物愉快。",
)
SENTENCES = tuple(
    f"{opening}，{message}" for opening, message in product(_OPENINGS, _MESSAGES)
)
"""Texts without digits, as they reach the engine."""
STEPS = 24
"""Steps that each is spoken for: until its first sound and a little further."""
