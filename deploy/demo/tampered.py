"""The fifth step: packs that must not speak are refused, each for its own reason."""

from __future__ import annotations

from pathlib import Path

from deploy.demo.chain import DECODER, Chain
from deploy.demo.report import Step
from deploy.demo.servers import command
from deploy.demo.sound import Ear

FLIPPED_AT = 100_000
"""Which byte of the decoder is flipped."""
TEXTS = {
    "damaged": "全场八五折，会员再减5元。",
    "bad_signature": "活动到12月31日结束。",
    "older_version": "请您带好随身物品，欢迎下次光临。",
}
"""What is said after each refusal; new each time, so that no cache speaks."""


def tampered(step: Step, chain: Chain, ear: Ear, good: str) -> None:
    """Offer the box three packs that must not speak.

    Args:
        step: The step.
        chain: The chain.
        ear: Hears the box.
        good: Digest of the pack that speaks and shall go on to.
    """
    offers = {
        "damaged": _flipped(chain),
        "bad_signature": _foreign(chain),
        "older_version": _older(chain),
    }
    for reason, folder in offers.items():
        code, said = command(chain.environment, "edge", "packs", "install", str(folder))
        said = said.splitlines()[-1] if said else ""
        is_refused = code != 0 and said.startswith(f"yaohe-edge: {reason}: ")
        step.check(f"{folder.name} is refused", is_refused, said)
        heard = ear.ask(TEXTS[reason], "man", f"5-tampered-{reason}")
        step.hear(heard)
        still = heard.tier == "edge" and heard.pack_sha256 == good
        step.check("the good one still speaks", still, heard.reason)


def _flipped(chain: Chain) -> Path:
    """A newer version, well signed, then one bit of it flipped."""
    folder = chain.version_of_man("9.0.0")
    chain.sign(folder)
    path = folder / DECODER
    content = bytearray(path.read_bytes())
    content[FLIPPED_AT] ^= 1
    path.write_bytes(content)
    return folder


def _foreign(chain: Chain) -> Path:
    """A newer version, signed by keys of another chain."""
    folder = chain.version_of_man("9.0.1")
    keys = chain.folder / "other-keys"
    chain.run("distill", "keygen", str(keys))
    chain.sign(folder, keys)
    return folder


def _older(chain: Chain) -> Path:
    """An older version, well signed."""
    folder = chain.version_of_man("0.0.9")
    chain.sign(folder)
    return folder
