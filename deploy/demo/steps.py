"""The first four steps: local, phrase, cloud, pack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deploy.demo.chain import Chain
from deploy.demo.report import Step
from deploy.demo.servers import until
from deploy.demo.sound import Ear, Heard

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
CLOUD_TEXT = "请A023号顾客到3号窗口取餐。"
MAN_PACK = "yaohe-man@"
OTHERS = ("gd", "sc")
"""Dialects that a bare box speaks besides Mandarin."""
ARRIVE_S = 120.0
"""Longest wait for what travels over MQTT."""


def local(step: Step, chain: Chain, ear: Ear) -> None:
    """The box speaks with its own model, in three dialects."""
    heard = ear.ask(TEXT, name="1-local")
    step.hear(heard)
    step.check("the box's own model speaks", heard.tier == "edge", heard.tier)
    known = {pack["sha256"]: pack["name"] for pack in chain.status()["packs"]}
    step.check(
        "it is the pack of the box",
        heard.pack_sha256 in known,
        known.get(heard.pack_sha256, "another"),
    )
    sounds = {heard.sound_sha256: heard.samples}
    for dialect in OTHERS:
        said = ear.ask(TEXT, name=f"1-local-{dialect}", dialect=dialect)
        step.spoke(said)
        sounds[said.sound_sha256] = said.samples
        is_own = said.tier == "edge" and said.pack_sha256 in known
        by = known.get(said.pack_sha256, "another")
        step.check(f"it speaks {dialect}", is_own and said.dialect == dialect, by)
    is_other = len(sounds) == 1 + len(OTHERS)
    step.check("each in its own way", is_other, f"{sorted(sounds.values())} samples")


def phrase(step: Step, chain: Chain, ear: Ear) -> None:
    """A phrase of the operator comes to the box, and plays from its cache."""
    kept_one = "the box does not keep what it said"
    own = 1 + len(OTHERS)
    until(lambda: chain.status()["cache"]["phrases"] == own, kept_one)
    key = chain.run("cloud", "phrases", "add", TEXT)
    until(lambda: chain.row()["phrases"] == 1, "the phrase does not come", ARRIVE_S)
    heard = ear.ask(TEXT, name="2-phrase")
    step.hear(heard)
    step.check("the text plays from the cache", heard.tier == "cache", heard.reason)
    step.check("it is the operator's phrase", heard.phrase_key == key, key)
    kept = chain.status()["cache"]["phrases"]
    step.check("a rendition was added", kept == own + 1, f"{kept} of this text")


def cloud(step: Step, chain: Chain, ear: Ear) -> Heard:
    """A voice that only the cloud has streams from it."""
    own = [pack["name"] for pack in chain.status()["packs"]]
    until(lambda: "man" in chain.status()["voices"], "the box hears of no man's voice")
    heard = ear.ask(CLOUD_TEXT, "man", "3-cloud")
    step.hear(heard)
    is_own = any(name.startswith(MAN_PACK) for name in own)
    step.check("the box has no such pack", not is_own, " ".join(own))
    step.check("the cloud speaks", heard.tier == "cloud", heard.reason)
    step.check(
        "in the voice asked for", not heard.substituted, heard.substituted or "man"
    )
    return heard


def pack(step: Step, chain: Chain, ear: Ear, expected: str) -> None:
    """The man's signed pack comes to the running box, and the box speaks with it."""
    process = chain.box.pid
    chain.sign(chain.man)
    chain.run("cloud", "packs", "trust", str(chain.keys))
    manifest = chain.run("cloud", "packs", "publish", str(chain.man))
    until(lambda: committed(chain), "the pack does not come", ARRIVE_S)
    until(lambda: has_man(chain.status()["packs"]), "the pack does not speak")
    heard = ear.ask(CLOUD_TEXT, "man", "4-pack")
    step.hear(heard)
    step.check("the pack came and passed its golden phrases", True, manifest)
    step.check("the same request is the box's now", heard.tier == "edge", heard.reason)
    step.check(
        "by the very pack that spoke in the cloud",
        heard.pack_sha256 == expected,
        heard.pack_sha256,
    )
    is_same = chain.box.pid == process
    step.check("the box was not restarted", is_same, f"process {process}")


def has_man(packs: Sequence[Mapping[str, str]]) -> bool:
    """Whether the man's pack is among those in use."""
    return any(pack["name"].startswith(MAN_PACK) for pack in packs)


def committed(chain: Chain) -> bool:
    """Whether the man's pack passed its trial and is in use."""
    return any(
        update["state"] == "committed" and update["speaks"]
        for update in chain.updates()
    )
