"""What the distillery can be told: environment ``YAOHE_DISTILL_*`` and ``.env``.

Built once in the command line and passed on.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings

from common.files import distill_data
from common.settings import tier_config

CHECKOUT = Path(__file__).resolve().parents[1]
"""Where ``make judge`` puts the recogniser's environment."""


class DistillSettings(BaseSettings):
    """Everything the distillery can be told.

    Attributes:
        data: Folder of corpora, teachers, checkpoints and results.
        kokoro: Folder of the teacher Kokoro; by default in ``data``.
        chattts: Folder of the teacher ChatTTS, which the user brings; by default in
            ``data``.
        judge: Python of the environment with the recogniser (``make judge``).
        voices: Python of the environment with other voices (``make voices``).
        threads: Threads that training may use.
    """

    model_config = tier_config("distill")

    data: Path = Field(default_factory=distill_data)
    kokoro: Path | None = None
    chattts: Path | None = None
    judge: Path = CHECKOUT / ".venv-judge" / "bin" / "python"
    voices: Path = CHECKOUT / ".venv-voices" / "bin" / "python"
    threads: int = Field(1, ge=1, le=256)

    @property
    def kokoro_folder(self) -> Path:
        """Where the teacher Kokoro lies."""
        return self.kokoro or self.data / "teachers" / "kokoro"

    @property
    def chattts_folder(self) -> Path:
        """Where the teacher ChatTTS lies."""
        return self.chattts or self.data / "teachers" / "chattts"
