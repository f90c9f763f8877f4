"""Where the parts of a voice lie below the data folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from distill.recipe import HeldSet, Recipe, StageName


@dataclass(frozen=True)
class Places:
    """The folders of one recipe.

    Attributes:
        data: ``YAOHE_DISTILL_DATA``.
        recipe: The recipe.
    """

    data: Path
    recipe: Recipe

    @property
    def corpus(self) -> Path:
        """Sentences, sounds, labels; shared by recipes with the same corpus name."""
        return self.data / self.recipe.corpus.name

    @property
    def run(self) -> Path:
        """Everything that belongs to this recipe alone."""
        return self.data / "runs" / self.recipe.name

    def checkpoint(self, stage: StageName) -> Path:
        """Checkpoint of a stage."""
        return self.run / f"{stage}.pt"

    def log(self, stage: StageName) -> Path:
        """Losses of a stage, one JSON object a line."""
        return self.run / f"{stage}.jsonl"

    @property
    def draft(self) -> Path:
        """The exported graphs: a pack with all voices, not yet released."""
        return self.run / "draft"

    @property
    def export(self) -> Path:
        """What the graphs were exported from."""
        return self.run / "export.json"

    @property
    def evaluations(self) -> Path:
        """Measurements and the sounds they were taken on."""
        return self.run / "evaluation"

    def evaluation(self, held: HeldSet, pack: str) -> Path:
        """Measurement of one pack, or the draft, on one set of held sentences."""
        return self.evaluations / f"{held}-{pack}"

    def pack(self, name: str) -> Path:
        """A finished pack."""
        return self.run / "packs" / name
