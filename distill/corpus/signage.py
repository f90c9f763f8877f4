"""Sentences of signs and queue screens, from templates with random fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from distill.corpus.words import mandarin_words

ITEMS = (
    "苹果 香蕉 草莓 西瓜 葡萄 猕猴桃 车厘子 牛奶 酸奶 面包 蛋糕 鸡蛋 大米 食用油 "
    "洗衣液 纸巾 牙膏 洗发水 排骨 五花肉 牛腩 三文鱼 基围虾 生菜 西红柿 土豆 黄瓜 "
    "豆腐 拿铁咖啡 珍珠奶茶 红烧牛肉面 小笼包 羽绒服 运动鞋 连衣裙 保温杯 手机壳 "
    "充电宝 电饭煲 空调 冰箱 洗衣机 矿泉水 巧克力 月饼 粽子 火锅底料 啤酒 白酒 玩具 "
    "口罩 感冒药 钢笔 电影票 热水器 儿童座椅"
).split()
UNITS = "斤 公斤 盒 瓶 袋 个 份 件 箱 包 杯 双 套 台 支 条 只 张 块 碗".split()
MEASURES = "克 毫升 厘米 米 度 升 公里 千克 平方米 小时 分钟".split()
PLACES = "窗口 柜台 诊室 桌 收银台 登机口 包间".split()
SHOPS = "超市 商场 药店 餐厅 书店 影院 便利店 火锅店".split()
STATES = "正在热卖 新品上市 限时抢购 已经售完 马上到货 欢迎品尝 敬请期待".split()
REQUESTS = (
    "请注意 请保管好随身物品 谢谢您的配合 欢迎下次光临 请排队等候 请勿吸烟 祝您购物愉快"
).split()
PEOPLE = "顾客 朋友 会员 家长 旅客 同学 先生 女士".split()
SPOTS = "电梯口 扶梯旁 收银台 洗手间 服务台 停车场入口".split()
DIGITS = "零一二三四五六七八九"

TEMPLATES = (
    "今日特价，新鲜{item}每{unit}{price}，买{few}送一{end}",
    "{item}{price}一{unit}{end}",
    "{item}，原价{price}，现价{price}，仅限{day}{end}",
    "{item}¥{amount}/{unit}，{state}{end}",
    "请{number}号顾客到{small}号{place}{act}{end}",
    "请{letter}{code}号到{small}号{place}。",
    "{letter}{code}号，请{act}！",
    "全场{fold}折，满{hundreds}减{tens}，活动截止{date}{end}",
    "第二件{fold}折，{item}{state}{end}",
    "营业时间{time}到{time}。",
    "{day}{time}：{word}开始；{time}：{word}结束。",
    "订餐热线{phone}。",
    "会员{benefit}{small}倍，{word}{price}起{end}",
    "亲爱的{people}们，{word}{word}，{request}{end}",
    "{people}，您好！{request}{end}",
    "{percent}%的{word}，{quality}{number}{measure}。",
    "您需要{item}吗？{day}只要{price}！",
    "{item}在哪里？在{floor}楼{word}区。",
    "{item}在{floor}楼{word}区，{side}边{spot}{end}",
    "第{ordinal}{rank}{word}{prize}{end}",
    "欢迎光临{word}{shop}，{word}{state}{end}",
    "{year}年{date}，星期{weekday}{time}{word}开始。",
    "{ask}{word}{word}呢？",
    "{word}是不是{word}？",
    "{word}——{word}，{word}……{end}",
    "{shop}提醒您：{word}{word}，{request}；{word}，{request}{end}",
    "开往{word}方向的列车{time}进站，{request}{end}",
    "{word}（{word}）{state}，数量有限{end}",
)
_FIELD = re.compile(r"\{([a-z]+)\}")


class Signage:
    """Fills templates; every field has a method of its name."""

    def __init__(self, random: Random) -> None:
        """Take a source of chance.

        Args:
            random: Decides everything.
        """
        self._random = random
        self._lists = {
            "item": ITEMS,
            "unit": UNITS,
            "measure": MEASURES,
            "place": PLACES,
            "shop": SHOPS,
            "state": STATES,
            "request": REQUESTS,
            "people": PEOPLE,
            "spot": SPOTS,
            "word": mandarin_words(),
            "few": tuple("一二两三五"),
            "act": "取餐 办理 就诊 取货 结账 检票".split(),
            "day": "今天 本周 明天 周末 现在 每天 本月".split(),
            "letter": tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            "benefit": "积分 充值 生日当天 专享".split(),
            "quality": "净含量 重量 长度 温度".split(),
            "floor": tuple("一二三四五六七"),
            "side": tuple("左右前后"),
            "rank": "件 位 名 届 号 排".split(),
            "prize": "半价 免费 优惠 开奖 入场".split(),
            "weekday": tuple("一二三四五六日"),
            "ask": "什么 怎么 哪里 为什么 多少 谁 几点".split(),
        }
        self._made: dict[str, Callable[[], str]] = {
            "price": self._price,
            "amount": self._amount,
            "time": self._time,
            "phone": self._phone,
            "code": lambda: self._run(random.randint(2, 4)),
            "number": lambda: str(random.randint(1, 2000)),
            "small": lambda: str(random.randint(1, 20)),
            "ordinal": lambda: str(random.randint(1, 99)),
            "percent": lambda: str(random.randint(1, 100)),
            "hundreds": lambda: str(100 * random.randint(1, 20)),
            "tens": lambda: str(10 * random.randint(1, 19)),
            "fold": lambda: random.choice("9876543") + random.choice(("", "5", "8")),
            "year": lambda: str(random.randint(1949, 2035)),
            "date": lambda: f"{random.randint(1, 12)}月{random.randint(1, 31)}日",
            "end": lambda: random.choices("。！？", (7, 2, 1))[0],
        }

    def sentence(self) -> str:
        """One sentence."""
        return self.fill(self._random.choice(TEMPLATES))

    def fill(self, template: str) -> str:
        """A template with its fields filled."""
        return _FIELD.sub(lambda field: self._value(field[1]), template)

    def _value(self, field: str) -> str:
        make = self._made.get(field)
        return make() if make else self._random.choice(self._lists[field])

    def _run(self, length: int) -> str:
        """Digits in a row."""
        return "".join(self._random.choice("0123456789") for _ in range(length))

    def _amount(self) -> str:
        whole = self._random.choice((9, 99, 999))
        cents = self._random.choice(("", ".5", ".9", ".8", ".88", ".35", ".05"))
        return f"{self._random.randint(1, whole)}{cents}"

    def _price(self) -> str:
        """An amount the way signs write it or people say it."""
        kind = self._random.random()
        if kind < 0.5:
            return f"{self._amount()}元"
        spoken = DIGITS[self._random.randint(1, 9)]
        if kind < 0.8:
            return f"{self._random.randint(1, 99)}块{spoken}"
        return f"{self._random.choice('一二三四五六七八九')}十{spoken}块钱"

    def _time(self) -> str:
        hour = self._random.randint(6, 23)
        minute = self._random.choice((0, 5, 15, 20, 30, 40, 45, 50))
        if self._random.random() < 0.5:
            return f"{hour}:{minute:02d}"
        part = self._random.choice(("", "早上", "上午", "下午", "晚上"))
        rest = self._random.choice(("", "半", "一刻", "整", "十分", "零五分"))
        return f"{part}{(hour - 1) % 12 + 1}点{rest}"

    def _phone(self) -> str:
        kind = self._random.random()
        if kind < 0.4:
            return f"1{self._run(10)}"
        if kind < 0.7:
            return f"400-{self._run(3)}-{self._run(4)}"
        return f"0{self._run(2)}-{self._run(8)}"
