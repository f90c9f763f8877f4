"""The last step: the cloud dies in mid-sentence, all is gone, and all returns."""

from __future__ import annotations

import time
from contextlib import suppress

from deploy.demo.chain import Chain
from deploy.demo.report import Step
from deploy.demo.servers import DemoError, until
from deploy.demo.sound import Ear, Heard
from deploy.demo.steps import MAN_PACK, TEXT

LONG = "，".join(f"第{n}号顾客请到{n % 9 + 1}号窗口取餐" for n in range(1, 17)) + "。"
"""Long enough that no machine has spoken it all before the cloud is dead."""
ALONE = "店内暂时没有网络，结账一切正常。"
TRIES = 40
CUT_AFTER_S = 5.0
"""Seconds of sound that are heard before the cloud dies."""
MAX_DIFFERENCE_S = 2.0
"""Only the way a voice begins a sentence may differ where the box goes on."""
QUIET_S = 5.0
"""How long nothing may be counted a second time."""
RETURN_S = 90.0
"""Longest wait until everybody has found each other again."""


def cut(step: Step, chain: Chain, ear: Ear) -> None:
    """Kill the cloud while it speaks, take the broker away, and bring both back."""
    # Only a box that asks its cloud first lets it speak what it could say itself.
    chain.box.stop()
    chain.box.start(YAOHE_EDGE_POLICY__MODE="cloud")
    _when_cloud_speaks(ear)
    heard = _kill_in_mid_sentence(step, chain, ear)
    chain.broker.stop()
    whole = ear.ask(LONG, "man")
    step.check("without cloud and broker it speaks", whole.tier == "edge", whole.reason)
    difference_s = abs(whole.seconds - heard.seconds)
    step.check(
        "nothing was left out, nothing said twice",
        difference_s < MAX_DIFFERENCE_S,
        f"{heard.seconds:.2f} s, {whole.seconds:.2f} s in one piece",
    )
    alone = ear.ask(ALONE, "man", "6-alone")
    step.check("and says what is new", alone.tier == "edge", alone.reason)
    known = ear.ask(TEXT)
    step.check("and what it keeps", known.tier == "cache", known.reason)
    chain.broker.start()
    chain.cloud.start()
    _check_reports(step, chain, ear)


def _when_cloud_speaks(ear: Ear) -> None:
    """Wait until the box has found its cloud again; each text is new to it."""
    for number in range(1, TRIES + 1):
        if ear.ask(f"第{number}次试音。", "man").tier == "cloud":
            return
        time.sleep(0.5)
    raise DemoError("the box does not find its cloud")


def _kill_in_mid_sentence(step: Step, chain: Chain, ear: Ear) -> Heard:
    """Let the cloud begin, kill it, and hear who goes on."""

    def die(heard_s: float) -> None:
        if heard_s > CUT_AFTER_S and chain.cloud.pid is not None:
            chain.cloud.kill()

    heard = ear.stream(LONG, "man", "6-cut", die)
    step.hear(heard)
    step.check(
        "the cloud began and the box went on",
        heard.tiers == ("cloud", "edge"),
        " ".join(heard.tiers),
    )
    step.check(
        "from the next clause on, declared", "clause" in heard.reason, heard.reason
    )
    is_same = heard.reason.endswith(": man") and not heard.substituted
    step.check("in the same voice", is_same, heard.substituted or "man")
    return heard


def _check_reports(step: Step, chain: Chain, ear: Ear) -> None:
    """Hear what the cloud knows once everybody has found each other again."""
    # The counts are judged below: that they do not come is a finding too.
    with suppress(DemoError):
        until(lambda: _has_all(chain, ear), "the counts do not come", RETURN_S)
    time.sleep(QUIET_S)
    row = chain.row()
    has_man = any(name.startswith(MAN_PACK) for name in row["packs"])
    told, counted = dict(sorted(row["tiers"].items())), dict(sorted(ear.counts.items()))
    step.check(
        "every utterance was counted once", told == counted, f"{told}, heard {counted}"
    )
    step.check(
        "the box's state arrived",
        row["is_up"] and has_man and row["phrases"] == 1,
        f"phrases {row['phrases']}, packs {' '.join(row['packs'])}",
    )


def _has_all(chain: Chain, ear: Ear) -> bool:
    """Whether the cloud has heard of the box, and of all that it said."""
    row = chain.row()
    return bool(row["is_up"]) and row["tiers"] == dict(ear.counts)
