"""Builds a corpus: the teacher says every sentence once, in one of the voices.

Resumable at any sentence, by one process or by several workers with a teacher each.
Whatever the number of workers, the same recipe gives the same files.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from common.errors import YaoheError
from distill.corpus import ledger, quality
from distill.corpus.complete import align_corpus, completed
from distill.corpus.ledger import Entry
from distill.corpus.sentences import Sentence, coverage, generate, generate_told
from distill.notes import read_note
from distill.recipe import Recipe
from distill.teacher.base import Lesson, Plug, Teacher, Teller

PASSED_OVER = frozenset(("input_too_long", "unreadable_text"))
"""What one sentence may be at fault for; anything else is the teacher's."""


@dataclass(frozen=True)
class Task:
    """A sentence, the teacher's voice that says it, and how fast.

    Attributes:
        sentence: What to say.
        voice: The teacher's voice.
        speed: 1 is the voice's own.
        is_told: Whether it is enough that the teacher tells how it would say it.
    """

    sentence: Sentence
    voice: str
    speed: float
    is_told: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a task: an entry, or the reason why there is none."""

    task: Task
    entry: Entry | None
    reason: str = ""


@dataclass
class Progress:
    """How far a corpus is.

    Attributes:
        wanted: Sentences in all.
        done: Sentences that are there or were left out.
        seconds: Seconds of speech made in this run.
    """

    wanted: int
    done: int
    seconds: float = 0.0


@dataclass
class Work:
    """What one process needs to do tasks.

    Attributes:
        folder: The corpus.
        teacher: The teacher.
        least_voiced: Share of a sentence that is voiced, at least.
    """

    folder: Path
    teacher: Teacher
    least_voiced: float

    def do(self, task: Task) -> Outcome:
        """Let the teacher say a sentence and keep it if it is good."""
        sentence = task.sentence
        try:
            lesson = self._lesson(task)
        except YaoheError as error:
            if error.code not in PASSED_OVER:
                raise
            return Outcome(task, None, error.message)
        if reason := quality.fault(
            *(lesson, sentence.symbols, self.least_voiced), has_sound=not task.is_told
        ):
            return Outcome(task, None, reason)
        seconds, sha256 = ledger.save(
            self.folder, sentence.id, sentence.symbols, lesson, task.speed
        )
        entry = Entry(
            id=sentence.id,
            voice=task.voice,
            text=sentence.text,
            seconds=round(seconds, 4),
            speed=task.speed,
            sha256=sha256,
            dialect=sentence.dialect,
            is_told=task.is_told,
        )
        return Outcome(task, entry)

    def _lesson(self, task: Task) -> Lesson:
        """What the teacher says or tells, and what it leaves to be found out."""
        sentence = task.sentence
        if not task.is_told:
            return completed(
                self.teacher.speak(
                    sentence.symbols, task.voice, task.speed, text=sentence.text
                )
            )
        if not isinstance(self.teacher, Teller):
            raise YaoheError(
                "invalid_request",
                "this teacher cannot tell without speaking; corpus.told must be 0",
                param="corpus.told",
            )
        return self.teacher.tell(sentence.symbols, task.voice, task.speed)


Hire = Callable[[], Work]
"""Loads a teacher for the work of one process; can be pickled."""


def _hire(folder: Path, engage: Callable[[], Teacher], least_voiced: float) -> Work:
    """The work of this process."""
    return Work(folder, engage(), least_voiced)


class _Worker:
    """What a process of a pool is: it loads a teacher once, for its first task."""

    hire: Hire
    work: Work | None = None

    @classmethod
    def begin(cls, hire: Hire) -> None:
        """Know how to load the teacher; Ctrl-C is the parent's to answer."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        cls.hire = hire

    @classmethod
    def do(cls, task: Task) -> Outcome | YaoheError:
        """Do a task; an error comes back as a value, that none is lost."""
        try:
            cls.work = cls.work or cls.hire()
            return cls.work.do(task)
        except YaoheError as error:
            return error


def _outcomes(tasks: Sequence[Task], hire: Hire, workers: int) -> Iterator[Outcome]:
    """Do tasks in this process or in several."""
    if workers == 1:
        yield from map(hire().do, tasks)
        return
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers, _Worker.begin, (hire,)) as pool:
        yield from _unless_failed(pool.imap_unordered(_Worker.do, tasks))


def _unless_failed(outcomes: Iterable[Outcome | YaoheError]) -> Iterator[Outcome]:
    """Outcomes, up to the first error."""
    for outcome in outcomes:
        if isinstance(outcome, YaoheError):
            raise outcome
        yield outcome


def plan(recipe: Recipe) -> list[Task]:
    """All sentences of a recipe, each with its voice.

    Args:
        recipe: The recipe.

    Returns:
        Tasks in order, those first that cost least; voices take turns, and each
        sentence has its speed.
    """
    voices = [voice.teacher for voice in recipe.voices.values()]
    tasks = []
    for sentences, is_told in ((generate_told, True), (generate, False)):
        pace, random = recipe.corpus.pace, Random(recipe.seed)
        for sentence in sentences(recipe):
            is_other = random.random() < pace.share
            other = round(random.uniform(pace.slowest, pace.fastest), 3)
            voice = voices[sentence.id % len(voices)]
            tasks.append(Task(sentence, voice, other if is_other else 1.0, is_told))
    return tasks


def is_built(folder: Path, recipe: Recipe) -> bool:
    """Whether the corpus of a recipe is finished."""
    return _made_by(folder) == recipe.corpus_digest


def _made_by(folder: Path) -> str | None:
    """Digest of the recipe that a finished corpus was made by."""
    digest = read_note(folder / ledger.MANIFEST).get("recipe_sha256")
    return None if digest is None else str(digest)


def build(
    folder: Path,
    recipe: Recipe,
    plug: Plug,
    *,
    workers: int = 1,
    advance: Callable[[Progress], None] = lambda _: None,
) -> dict[str, Any]:
    """Build or finish a corpus.

    Args:
        folder: The corpus.
        recipe: The recipe.
        plug: The teacher.
        workers: Processes.
        advance: Called at the start and after every sentence.

    Returns:
        The manifest.

    Raises:
        YaoheError: ``invalid_request`` where the folder holds another recipe's corpus;
            ``pack_invalid`` where the teacher's files are not right.
    """
    made_by = _made_by(folder)
    if made_by not in (None, recipe.corpus_digest):
        raise YaoheError(
            "invalid_request",
            f"{folder} was made by another recipe; choose another corpus name",
        )
    tasks = plan(recipe)
    with ledger.opened(folder) as book:
        there = {int(row["id"]): str(row["text"] or "") for row in ledger.rows(folder)}
        done = there.keys() | {int(row["id"]) for row in ledger.rejected(folder)}
        left = [task for task in tasks if task.sentence.id not in done]
        progress = Progress(len(tasks), len(tasks) - len(left))
        advance(progress)
        hire = partial(_hire, folder, plug.engage, recipe.quality.least_voiced)
        for outcome in _outcomes(left, hire, workers) if left else ():
            sentence = outcome.task.sentence
            if outcome.entry is None:
                book.reject(sentence.id, sentence.text, outcome.reason)
            else:
                book.add(outcome.entry)
                progress.seconds += outcome.entry.seconds
            progress.done += 1
            advance(progress)
        aligned = align_corpus(folder)
    counts = coverage(task.sentence for task in tasks)
    foreign = sum(
        there.get(task.sentence.id, task.sentence.text) != task.sentence.text
        for task in tasks
    )
    facts = _facts(recipe, plug, counts, foreign)
    return ledger.write_manifest(
        folder, facts | ({"aligned": aligned} if aligned else {})
    )


def _facts(
    recipe: Recipe, plug: Plug, counts: Mapping[str, int], foreign: int
) -> dict[str, Any]:
    """What a manifest says besides what is in the index."""
    return {
        "recipe": recipe.name,
        "recipe_sha256": recipe.corpus_digest,
        "seed": recipe.seed,
        "teacher": plug.card.model_dump(mode="json", exclude_none=True),
        "teacher_files": dict(plug.digests),
        # Rows that were there before and say something else than this recipe.
        "foreign_sentences": foreign,
        "symbols": dict(sorted(counts.items(), key=lambda item: item[1])),
    }
