"""Which engines there are, what each costs and permits, and how one is built."""

from __future__ import annotations

from dataclasses import dataclass

from cloud.engine.base import Engine
from cloud.settings import CloudSettings, EngineName


@dataclass(frozen=True)
class About:
    """What someone who chooses an engine should know.

    Attributes:
        name: Its name.
        speaks: Its voices and dialects.
        needs: What must be there first.
        licence: Whose terms apply.
    """

    name: str
    speaks: str
    needs: str
    licence: str


ENGINES: dict[EngineName, About] = {
    "packed": About(
        "packed",
        "the voices and dialects of its packs; speaks the receipt exactly",
        "nothing: the starter pack is inside the package",
        "the pack's own (the starter pack: Apache-2.0)",
    ),
    "kokoro": About(
        "kokoro",
        "eight Mandarin voices, Kokoro-82M; speaks the receipt exactly",
        "yaohe-cloud engine fetch kokoro (100 MB, once)",
        "code and weights Apache-2.0",
    ),
}

CHATTTS_NOTE = (
    "ChatTTS is not among them: its code is AGPL-3.0 and its weights are CC BY-NC 4.0, "
    "for research; a shop cannot use them commercially as they are."
)


def speaking(settings: CloudSettings) -> Engine:
    """What speaks for a service: its workers if it has any, else its own engine.

    Args:
        settings: The cloud's settings.

    Returns:
        The engine; nothing is loaded yet.
    """
    if settings.worker.addresses:
        from cloud.worker.pool import WorkerPool

        return WorkerPool(settings.worker)
    return build(settings)


def build(settings: CloudSettings) -> Engine:
    """Build the engine that the settings name; nothing is loaded yet.

    Args:
        settings: The cloud's settings.

    Returns:
        The engine.
    """
    chosen = settings.engine
    # Only the chosen engine's own dependencies are imported.
    if chosen.name == "kokoro":
        from cloud.engine.kokoro.engine import KokoroEngine

        return KokoroEngine(
            settings.kokoro_directory,
            threads=chosen.threads,
            slots=chosen.slots,
            runs=chosen.runs,
        )
    from cloud.engine.packed import PackedEngine

    return PackedEngine(
        chosen.packs,
        is_unsigned_allowed=chosen.unsigned,
        threads=chosen.threads,
        slots=chosen.slots,
        runs=chosen.runs,
    )
