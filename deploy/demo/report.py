"""What the tour found: a table for people, a file for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from deploy.demo.servers import DemoError
from deploy.demo.sound import Heard

REPORT = "report.json"


@dataclass
class Case:
    """One thing that was looked at.

    Attributes:
        name: What should be.
        ok: Whether it is.
        reason: What was found.
    """

    name: str
    ok: bool
    reason: str = ""


@dataclass
class Step:
    """One step of the tour, with the keys of the report.

    Attributes:
        name: Its name.
        ok: Whether all its cases are.
        tier: Who spoke its sound.
        first_audio_ms: Milliseconds to the first sound.
        phrase_key: What was said, as a cache knows it.
        pack_sha256: Which pack spoke.
        file: The sound's file, beside the report.
        sha256: Digest of that file.
        reason: Why that tier spoke, or why the step failed.
        cases: What was looked at.
        dialects: What was spoken, in the order in which it was heard.
    """

    name: str
    ok: bool = False
    tier: str = ""
    first_audio_ms: float = 0.0
    phrase_key: str = ""
    pack_sha256: str = ""
    file: str = ""
    sha256: str = ""
    reason: str = ""
    cases: list[Case] = field(default_factory=list)
    dialects: list[str] = field(default_factory=list)

    def hear(self, heard: Heard) -> None:
        """Take a sound as the step's own."""
        self.tier = "+".join(heard.tiers)
        self.first_audio_ms = round(heard.first_ms, 1)
        self.phrase_key, self.pack_sha256 = heard.phrase_key, heard.pack_sha256
        self.file, self.sha256 = heard.file, heard.sha256
        self.reason = heard.reason
        self.spoke(heard)

    def spoke(self, heard: Heard) -> None:
        """Note which dialect was heard."""
        if heard.dialect not in self.dialects:
            self.dialects.append(heard.dialect)

    def check(self, name: str, ok: bool, reason: object = "") -> None:
        """Note a case."""
        self.cases.append(Case(name, bool(ok), str(reason)))


class Report:
    """The steps as they are taken."""

    def __init__(self, folder: Path) -> None:
        """Start empty.

        Args:
            folder: Where the report goes.
        """
        self.steps: list[Step] = []
        self._folder = folder

    @property
    def is_ok(self) -> bool:
        """Whether every step is."""
        return bool(self.steps) and all(step.ok for step in self.steps)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Take a step: what goes wrong in it is noted, and the tour goes on.

        Args:
            name: Its name.

        Yields:
            The step.
        """
        step = Step(name)
        self.steps.append(step)
        try:
            yield step
            step.ok = bool(step.cases) and all(case.ok for case in step.cases)
        except DemoError as problem:
            step.reason = str(problem)
        _show(step)

    def write(self) -> None:
        """Write the file."""
        steps = [asdict(step) for step in self.steps]
        text = json.dumps({"steps": steps}, ensure_ascii=False, indent=2)
        (self._folder / REPORT).write_text(text + "\n", "utf-8")


def heading() -> None:
    """Print the table's head."""
    print("\nstep      ok    tier        first audio  sound", flush=True)


def _show(step: Step) -> None:
    """Print a row, and under it what was looked at."""
    verdict = "ok" if step.ok else "FAIL"
    print(
        f"{step.name:8}  {verdict:4}  {step.tier:10}  {step.first_audio_ms:8.1f} ms"
        f"  {step.file}"
    )
    _lines(step.cases)
    if not step.ok:
        print(f"          {step.reason}")
    print(end="", flush=True)


def _lines(cases: Sequence[Case]) -> None:
    for case in cases:
        print(f"          {'+' if case.ok else '-'} {case.name}: {case.reason}")
