"""A recipe: everything that makes a voice, in one YAML file.

Unknown fields are errors, so that a misspelt one cannot be ignored in silence. The
digest of a recipe names what a corpus was made from.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from common.errors import YaoheError
from common.protocol.manifest import MAX_QUALITY, Name
from common.protocol.version import VERSION_FORM
from common.text.symbols import SPEAKER_SLOTS

SHIPPED = Path(__file__).parent / "recipes"
MAX_RECIPE_BYTES = 64 * 1024

StageName = Literal["acoustic", "masks", "joint"]
STAGES: tuple[StageName, ...] = ("acoustic", "masks", "joint")
"""Stages in the order in which they are trained."""
READERS = frozenset(("chattts",))
"""Teachers that take characters."""
HeldSet = Literal["signage", "wide", "english", "sc", "gd"]


class Part(BaseModel):
    """A part of a recipe: frozen, strict about names."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Voice(Part):
    """A logical voice.

    Attributes:
        teacher: The teacher's voice that it learns from.
        speaker: Its speaker slot in the student.
        gender: For people who choose.
    """

    teacher: str
    speaker: int = Field(ge=0, lt=SPEAKER_SLOTS)
    gender: Name | None = None


class Mix(Part):
    """Shares of the kinds of sentences; they are brought to a sum of one.

    Attributes:
        signage: Sentences from templates: prices, queue numbers, dates, offers.
        words: Strings of random dictionary words with pauses.
        short: One or two words.
        english: English words and letters inside Chinese, and alone.
        syllables: Syllables of other dialects with Mandarin contours.
        cantonese: Sentences in Cantonese segments with Mandarin contours.
        chengdu: Sentences in Chengdu segments with Mandarin contours.
    """

    signage: float = Field(0.36, ge=0)
    words: float = Field(0.42, ge=0)
    short: float = Field(0.06, ge=0)
    english: float = Field(0.10, ge=0)
    syllables: float = Field(0.06, ge=0)
    cantonese: float = Field(0, ge=0)
    chengdu: float = Field(0, ge=0)

    @model_validator(mode="after")
    def _something(self) -> Mix:
        if not sum(self.model_dump().values()) > 0:
            raise ValueError("all shares are zero")
        return self

    def unread(self) -> float:
        """Share of sentences that only symbols can say."""
        return self.syllables + self.cantonese + self.chengdu


class Pace(Part):
    """How fast the teacher speaks: mostly its own way, sometimes slower or faster.

    Attributes:
        share: Share of the sentences that are spoken at another speed.
        slowest: The lowest speed; 1 is the teacher's own.
        fastest: The highest speed.
    """

    share: float = Field(0.25, ge=0, le=1)
    slowest: float = Field(0.7, ge=0.3, le=1)
    fastest: float = Field(1.5, ge=1, le=3)


class Corpus(Part):
    """What the teacher is asked to say.

    Attributes:
        name: Folder of the corpus; several recipes may share it.
        sentences: How many are drawn.
        least: Every symbol that the teacher can say occurs at least so often;
            sentences are added until it does.
        told: Further sentences that the teacher does not say; it tells how long their
            symbols are and how their pitch runs. That costs a thirtieth of a spoken
            one, and timing and melody are what needs most examples.
        mix: Shares of the kinds of sentences.
        pace: How fast they are spoken.
    """

    name: Name
    sentences: int = Field(ge=1, le=900_000)
    least: int = Field(30, ge=0, le=1000)
    told: int = Field(0, ge=0, le=99_999)
    mix: Mix = Mix()
    pace: Pace = Pace()


class Quality(Part):
    """What a lesson must be to be learnt from.

    Attributes:
        least_voiced: Share of a sentence that is voiced, at least; a whisper is less.
    """

    least_voiced: float = Field(0.1, ge=0, le=1)


class Stage(Part):
    """How long and how fast a stage learns.

    Attributes:
        steps: Steps in all.
        frames: Padded frames per batch.
        rate: Highest learning rate.
        warmup: Steps until it is reached.
        critic: Step from which the student listens to a critic of its sound; without
            it there is none.
    """

    steps: int = Field(ge=1)
    frames: int = Field(4800, ge=256)
    rate: float = Field(1e-3, gt=0, le=1)
    warmup: int = Field(200, ge=1)
    critic: int | None = Field(None, ge=0)


class Evaluation(Part):
    """What a voice is measured on.

    Attributes:
        held: The set of held sentences.
        count: How many of them, from the first.
    """

    held: HeldSet = "signage"
    count: int = Field(100, ge=1, le=200)


class PackPlan(Part):
    """One pack to be made of the student.

    Attributes:
        voices: Logical voices in it; the lowest speaker slot is the default.
        version: SemVer.
        quality: Rank among packs and renditions.
        golden: Phrases it must speak before it may speak in a shop.
        dialect: What it speaks.
        base: For another dialect than Mandarin, the pack whose weights it speaks with.
    """

    voices: list[Name] = Field(min_length=1)
    version: Annotated[str, Field(pattern=VERSION_FORM)]
    quality: int = Field(50, ge=0, le=MAX_QUALITY)
    golden: list[str] = Field(min_length=1, max_length=64)
    dialect: Literal["zh", "sc", "gd"] = "zh"
    base: Name | None = None

    @model_validator(mode="after")
    def _stands(self) -> PackPlan:
        if (self.base is None) != (self.dialect == "zh"):
            raise ValueError("a dialect and the pack it stands on belong together")
        return self


class Recipe(Part):
    """A voice from teacher to packs.

    Attributes:
        name: Folder of its checkpoints, graphs and results.
        seed: Seed of sentences, weights and order.
        teacher: The teacher.
        voices: Logical voices.
        corpus: What the teacher says.
        quality: What of it is learnt from.
        size: Widths and depths of the student: ``shop`` for real, ``tiny`` for tests.
        start: ``starter`` trains on from the weights of the pack inside the wheel;
            without it a student starts from chance and needs all three stages.
        stages: The stages of training.
        noise_seed: Seed of the vocoder's noise.
        evaluation: What it is measured on.
        packs: Packs by name.
    """

    name: Name
    seed: int = Field(ge=0, lt=2**32)
    teacher: Literal["kokoro", "chattts"] = "kokoro"
    voices: dict[Name, Voice] = Field(min_length=1)
    corpus: Corpus
    quality: Quality = Quality()
    size: Literal["tiny", "shop"] = "shop"
    start: Literal["starter"] | None = None
    stages: dict[StageName, Stage]
    noise_seed: int = Field(1, ge=0, lt=2**32)
    evaluation: Evaluation = Evaluation()
    packs: dict[Name, PackPlan] = {}

    @model_validator(mode="after")
    def _whole(self) -> Recipe:
        needed = ("joint",) if self.start else STAGES
        if missing := [name for name in needed if name not in self.stages]:
            raise ValueError(f"stage {missing[0]} is missing")
        corpus = self.corpus
        if self.teacher in READERS and (
            corpus.least or corpus.told or corpus.mix.unread()
        ):
            raise ValueError(
                f"{self.teacher} takes characters: no syllables and no dialects for it,"
                " and least and told must be 0"
            )
        slots = [voice.speaker for voice in self.voices.values()]
        teachers = [voice.teacher for voice in self.voices.values()]
        if len(set(slots)) < len(slots) or len(set(teachers)) < len(teachers):
            raise ValueError("two voices share a speaker slot or a teacher's voice")
        for name, plan in self.packs.items():
            if strangers := [v for v in plan.voices if v not in self.voices]:
                raise ValueError(f"pack {name}: no voice {strangers[0]} in this recipe")
            base = self.packs.get(plan.base) if plan.base else plan
            if base is None or (base is not plan and base.base):
                raise ValueError(f"pack {name}: {plan.base} is no pack to stand on")
            if absent := [v for v in plan.voices if v not in base.voices]:
                raise ValueError(f"pack {name}: {plan.base} has no voice {absent[0]}")
        return self

    @property
    def corpus_digest(self) -> str:
        """SHA-256 of what decides the corpus: seed, teacher, voices, sentences."""
        # What a corpus was made by does not change with fields that came later.
        unsaid = {"name"} if self.corpus.told else {"name", "told"}
        facts = {
            "seed": self.seed,
            "teacher": self.teacher,
            "voices": {n: v.teacher for n, v in self.voices.items()},
            "corpus": self.corpus.model_dump(mode="json", exclude=unsaid),
        }
        if self.quality != Quality():
            facts["quality"] = self.quality.model_dump(mode="json")
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def shipped() -> tuple[str, ...]:
    """Names of the recipes that came with the software."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))


def load_recipe(name: str) -> Recipe:
    """Read a recipe.

    Args:
        name: A file, or the name of a shipped recipe.

    Returns:
        The recipe.

    Raises:
        YaoheError: ``not_found``, or ``invalid_request`` naming the field at fault.
    """
    path = SHIPPED / f"{name}.yaml" if name in shipped() else Path(name)
    try:
        if path.stat().st_size > MAX_RECIPE_BYTES:
            raise YaoheError("invalid_request", f"{path}: too large for a recipe")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        known = ", ".join(shipped())
        raise YaoheError(
            "not_found", f"no readable recipe {name}; shipped ones: {known}"
        ) from None
    return parse_recipe(text, str(path))


def parse_recipe(text: str, source: str = "recipe") -> Recipe:
    """Read a recipe's text.

    Args:
        text: YAML.
        source: What to call it in errors.

    Returns:
        The recipe.

    Raises:
        YaoheError: ``invalid_request`` naming the field at fault.
    """
    try:
        values: Any = yaml.safe_load(text)
        return Recipe.model_validate(values)
    except (yaml.YAMLError, RecursionError) as error:
        problem = str(error).splitlines()[0] if str(error) else "too deep"
        raise YaoheError("invalid_request", f"{source}: no YAML: {problem}") from None
    except ValidationError as refusal:
        first = refusal.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "recipe"
        raise YaoheError(
            "invalid_request", f"{source}: {where}: {first['msg']}", param=where
        ) from None
