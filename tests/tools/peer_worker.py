"""Runs one other reader on some texts, in the environment where it is installed.

    PYTHON tests/tools/peer_worker.py NAME < texts.json > answers.json

Imports nothing of this project: the environment of the peers knows it not. Standard
input holds ``{"texts": [...], "repeats": n}``; see ``tests/tools/peers.py`` for the
answer.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

Said = dict[str, Any]
Say = Callable[[str], Said]


def _wetext() -> Say:
    wetext = importlib.import_module("wetext")
    peer = wetext.Normalizer(lang="zh", traditional_to_simple=True, full_to_half=True)
    return lambda text: {"spoken": str(peer.normalize(text))}


def _zh_normalization() -> Say:
    peer = importlib.import_module("zh_normalization").TextNormalizer()
    return lambda text: {"spoken": "".join(peer.normalize(text))}


def _cn2an() -> Say:
    peer = importlib.import_module("cn2an")
    return lambda text: {"spoken": str(peer.transform(text, "an2cn"))}


def _g2p_mix() -> Say:
    peer = importlib.import_module("g2p_mix").G2P()

    def say(text: str) -> Said:
        found = peer(text)
        units = [u for token in found.tokens for u in token.pronunciation.units]
        return {
            "spoken": found.normalized_text,
            "surface": _merged([u.native for u in units if u.tone]),
        }

    return say


def _misaki() -> Say:
    module = importlib.import_module("misaki.zh_frontend")
    peer = importlib.import_module("misaki.zh").ZHG2P(version="1.1")
    written = {v: k for k, v in module.ZH_MAP.items()}
    initials = {*module.INITIALS}

    def say(text: str) -> Said:
        return {"surface": _pinyin(str(peer(text)[0]), written, initials)}

    return say


def _merged(syllables: list[str]) -> list[str]:
    """An erhua of its own joins the syllable before it, as the cases write it."""
    found: list[str] = []
    for syllable in syllables:
        if syllable == "er5" and found:
            found[-1] = f"{found[-1][:-1]}r{found[-1][-1]}"
        else:
            found.append(syllable)
    return found


def _pinyin(phonemes: str, written: dict[str, str], initials: set[str]) -> list[str]:
    """Misaki's bopomofo as pinyin with tone numbers."""
    found: list[str] = []
    initial = final = ""
    for sign in phonemes:
        name = written.get(sign, "")
        if name and name in "12345":
            found.append(_spelled(initial, final) + name)
            initial = final = ""
        elif name in initials and name.strip():
            initial = name
        elif name == "R":
            final += "r"
        elif name:
            final = name
    return found


def _spelled(initial: str, final: str) -> str:
    """A syllable as pinyin spells it, from its strict initial and final."""
    final = re.sub("^i+$", "i", final)
    if initial:
        short = {"iou": "iu", "uei": "ui", "uen": "un", "ueng": "ong"}.get(final, final)
        return initial + (short.replace("v", "u") if initial in "jqx" else short)
    if final in ("i", "in", "ing"):
        return "y" + final
    if final == "u":
        return "wu"
    if final.startswith("v"):
        return "yu" + final[1:]
    first = {"i": "y", "u": "w"}.get(final[:1], "")
    return first + final[1:] if first else final


PEERS = {
    "wetext": _wetext,
    "zh-normalization": _zh_normalization,
    "cn2an": _cn2an,
    "g2p-mix": _g2p_mix,
    "misaki": _misaki,
}


def main(name: str) -> None:
    """Answer on standard output; what peers print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asked = json.load(sys.stdin)
    say = PEERS[name]()
    said: list[Said | None] = []
    spent: list[list[float]] = []
    for repeat in range(asked["repeats"]):
        spent.append([])
        for text in asked["texts"]:
            start = time.process_time_ns()
            try:
                answer: Said | None = say(text)
            # Whatever a peer fails with, it is its answer.
            except Exception as failure:  # noqa: BLE001
                sys.stderr.write(f"{text}: {failure!r}\n")
                answer = None
            spent[repeat].append((time.process_time_ns() - start) / 1e6)
            if not repeat:
                said.append(answer)
    json.dump({"version": version(name), "said": said, "spent_ms": spent}, answers)
    answers.close()


if __name__ == "__main__":
    main(sys.argv[1])
