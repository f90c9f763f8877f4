"""Which engines there are, what each costs and permits, and how one is built."""

from __future__ import annotations

from dataclasses import dataclass

from cloud.engine.base import Engine
from cloud.settings import CloudSettings, EngineName
from common.errors import YaoheError


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
    "chattts": About(
        "chattts",
        "the voices of your assets, Mandarin; chooses readings itself, so its receipts "
        "are not enforced",
        "the extra `engine` (torch), --assets DIR (none come with this package) and "
        "--accept-licence",
        "this engine Apache-2.0, and no code of ChatTTS, which is AGPL-3.0, is in it; "
        "the published weights CC BY-NC 4.0, for research: not for commerce",
    ),
    "reference": About(
        "reference",
        "the same assets through the ChatTTS package, one after another: to compare",
        "make reference (an environment of its own), --assets DIR and --accept-licence",
        "the package AGPL-3.0-or-later; the published weights CC BY-NC 4.0",
    ),
}

CHATTTS_TERMS = (
    "the published ChatTTS weights are CC BY-NC 4.0, for research: a shop cannot use "
    "them commercially as they are"
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

    Raises:
        YaoheError: ``invalid_request`` where terms were not accepted or a package that
            the engine needs is not installed.
    """
    chosen = settings.engine
    # Only the chosen engine's own dependencies are imported.
    if chosen.name in ("chattts", "reference"):
        return _chattts(settings)
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


def _chattts(settings: CloudSettings) -> Engine:
    """An engine for ChatTTS's weights, once their terms are accepted."""
    asked = settings.chattts
    if not asked.accept_licence:
        raise YaoheError(
            "invalid_request",
            f"{CHATTTS_TERMS}; if you keep to that, or your weights have other terms, "
            "say --accept-licence (YAOHE_CLOUD_CHATTTS__ACCEPT_LICENCE=true)",
        )
    if settings.engine.name == "reference":
        from cloud.engine.reference.engine import ReferenceEngine

        return ReferenceEngine(
            settings.chattts_directory,
            python=asked.reference,
            threads=settings.engine.threads,
        )
    try:
        from cloud.engine.chattts.engine import ChatTtsEngine, Options
    except ImportError as error:
        raise engine_missing(error) from None
    options = Options(
        slots=asked.slots,
        places=asked.places,
        prompt_tokens=asked.prompt_tokens,
        cache_mib=asked.cache_mib,
        dtype=asked.dtype,
        device=asked.device,
        threads=settings.engine.threads,
        has_graphs=asked.graphs,
        is_refined=asked.refine,
        has_markup=asked.markup,
        patience_s=asked.patience_s,
        warm_up=asked.warm_up,
        sha256=asked.sha256,
    )
    return ChatTtsEngine(settings.chattts_directory, options)


def engine_missing(error: ImportError) -> YaoheError:
    """The error for a package that only engine ``chattts`` needs.

    Args:
        error: What its import raised.

    Returns:
        The error.
    """
    return YaoheError(
        "invalid_request",
        f"engine chattts needs {error.name}: pip install 'yaohe[engine]'",
    )
