"""What is wrong with this box, in plain words: one check, one sentence, one advice.

Rules: a check never raises and changes nothing; what it says names no path or number
that a technician could not act on. ``fail`` means the shop may hear nothing, ``warn``
means it will hear less than it could.
"""

from __future__ import annotations

import importlib.util
import shutil
import socket
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path

import numpy as np
import psutil

from common.audio.opus import encode_master
from common.audio.pcm import SAMPLE_RATE
from common.errors import YaoheError
from common.text import LexiconFile, read
from common.version import VERSION
from common.voice.bases import Bases, among
from common.voice.pack import dialect_directories
from common.voice.runtime import describe
from edge import outside
from edge.check import Check
from edge.clock import Clock
from edge.packs import LoadedPack, load_dialects, load_starter, own_directories
from edge.settings import MIB, EdgeSettings

PACKAGES = ("common", "edge", "cloud", "distill")
TEST_SENTENCE = "今日特价，新鲜草莓每斤9.9元，买一送一。"
TEST_SPOKEN = "九点九"
RTF_RUNS = 3
SLOW_RTF, TOO_SLOW_RTF = 0.3, 1.0
"""Seconds of work per second of sound: worth a warning, too slow to stream."""
LOW_MEMORY_BYTES = 300 * MIB
"""Less than this and the voice may not fit beside what else runs."""


def examine(settings: EdgeSettings) -> list[Check]:
    """Look at everything, and measure the voice; takes a few seconds.

    Args:
        settings: What the box is told.

    Returns:
        All findings.
    """
    checks = look(settings)
    pack: LoadedPack | None = None
    bases = Bases(among(own_directories()))
    try:
        pack = load_starter(bases)
    except YaoheError as error:
        checks.append(
            Check(
                "pack",
                "fail",
                f"The starter pack cannot be used: {error.message}.",
                "Install the package again.",
            )
        )
    if pack is not None:
        checks += [_pack(pack), _dialects(bases), measure(pack)]
    return [*checks, _port(settings), *outside.ask(settings)]


def look(settings: EdgeSettings, clock: Clock | None = None) -> list[Check]:
    """Look at what costs nothing; safe beside a running box.

    Args:
        settings: What the box is told.
        clock: The box's clock; by default one with the release's floor.

    Returns:
        Findings.
    """
    looks: Iterable[tuple[str, Callable[[], Check]]] = (
        ("packages", lambda: packages(PACKAGES)),
        ("runtime", _runtime),
        ("opus", _opus),
        ("reading", _reading),
        ("lexicon", lambda: _lexicon(settings.lexicon)),
        ("disk", lambda: _disk(settings)),
        ("cache", lambda: _cache(settings)),
        ("clock", lambda: _clock(clock or Clock())),
        ("memory", _memory),
    )
    return [_safely(name, check) for name, check in looks]


def _safely(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:  # noqa: BLE001 - a broken check is a finding too
        return Check(
            name,
            "fail",
            f"The check itself failed: {type(error).__name__}: {error}.",
            "Report this.",
        )


def packages(names: Iterable[str]) -> Check:
    """Look where the packages come from; theirs are common names.

    Args:
        names: Import names that must come from one place.

    Returns:
        The finding.
    """
    owners = metadata.packages_distributions()
    home = Path(__file__).resolve().parents[1]
    for name in names:
        spec = importlib.util.find_spec(name)
        places = list(spec.submodule_search_locations or ()) if spec else []
        if not places or Path(places[0]).resolve().parent != home:
            found = places[0] if places else "nowhere"
            return Check(
                "packages",
                "fail",
                f"'{name}' is imported from {found}, not from {home}.",
                "Another package uses this name: give Yaohe an environment of its own.",
            )
        others = sorted(set(owners.get(name, ())) - {"yaohe"})
        if others:
            return Check(
                "packages",
                "warn",
                f"'{name}' is also installed by {', '.join(others)}.",
                "Give Yaohe an environment of its own.",
            )
    return Check("packages", "ok", f"Yaohe {VERSION} from {home}.")


def _runtime() -> Check:
    runtime = describe()
    offers = ", ".join(runtime.providers)
    if runtime.has_clash:
        return Check(
            "runtime",
            "fail" if "cuda" not in runtime.providers else "warn",
            f"{' and '.join(runtime.distributions)} are both installed; they overwrite "
            f"each other, and {offers} is what is left.",
            "Uninstall both, then install the one you want.",
        )
    chosen = runtime.providers[0] if runtime.providers else "none"
    return Check(
        "runtime",
        "ok" if runtime.providers else "fail",
        f"onnxruntime {runtime.version} offers {offers}; {chosen} is chosen.",
        "" if runtime.providers else "Install the extra 'cpu' or 'gpu'.",
    )


def _opus() -> Check:
    try:
        encode_master(np.zeros(480, np.float32))
    except YaoheError as error:
        return Check("opus", "fail", f"{error.message}.", "Install libopus.")
    return Check("opus", "ok", "libopus encodes.")


def _reading() -> Check:
    spoken = read(TEST_SENTENCE).spoken
    if TEST_SPOKEN not in spoken:
        return Check(
            "reading",
            "fail",
            f"The test price is read as '{spoken}'.",
            "Install the package again.",
        )
    return Check("reading", "ok", f"The test sentence is read as '{spoken}'.")


def _lexicon(path: Path | None) -> Check:
    if path is None:
        return Check("lexicon", "ok", "This shop has no words of its own.")
    file = LexiconFile(path)
    try:
        by_dialect = file.require().words.values()
    except FileNotFoundError:
        return Check(
            "lexicon",
            "warn",
            f"There is no file {path}.",
            "Make it, or take it out of YAOHE_EDGE_LEXICON.",
        )
    except OSError as error:
        return Check(
            "lexicon", "warn", f"{path}: {error.strerror}.", "Let the box read it."
        )
    except YaoheError as error:
        return Check(
            "lexicon",
            "warn",
            f"{error.message}; the box reads by the last good state, if any.",
            "Mend that line: word, a tab, and its syllables or '=other words'.",
        )
    count = len({word for words in by_dialect for word in words})
    return Check("lexicon", "ok", f"{count} of the shop's own words.")


def _disk(settings: EdgeSettings) -> Check:
    folder = settings.data
    existing = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(existing).free
    says = f"{free // MIB} MiB free for {folder}."
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".doctor-{time.monotonic_ns()}"
        probe.write_bytes(b"x")
        probe.unlink()
    except OSError as error:
        return Check(
            "disk",
            "fail",
            f"{folder} cannot be written: {error.strerror}.",
            "Set YAOHE_EDGE_DATA to a folder this user may write, or free space.",
        )
    if free < settings.cache.min_free_bytes:
        return Check("disk", "warn", says, "Free space: nothing new is kept.")
    return Check("disk", "ok", says)


def _cache(settings: EdgeSettings) -> Check:
    path = settings.data / "cache.db"
    if not path.exists():
        return Check("cache", "ok", "Empty; it fills as the box speaks.")
    aside = len(list(path.parent.glob("cache.db.damaged.*")))
    note = f" {aside} damaged file(s) were replaced earlier." if aside else ""
    try:
        file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            verdict = file.execute("PRAGMA quick_check(1)").fetchone()[0]
            count, size = file.execute(
                "SELECT count(*), coalesce(sum(size), 0) FROM renditions"
            ).fetchone()
        finally:
            file.close()
    except sqlite3.Error as error:
        verdict, count, size = str(error), 0, 0
    if verdict != "ok":
        return Check(
            "cache",
            "warn",
            f"The cache is damaged: {verdict}.",
            "Start the box: it replaces the file by itself.",
        )
    says = f"{count} phrases, {size / MIB:.1f} MiB.{note}"
    return Check("cache", "warn" if aside else "ok", says)


def _clock(clock: Clock) -> Check:
    state = clock.state()
    wall = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(state.wall_s))
    if state.is_behind:
        return Check(
            "clock",
            "warn",
            f"The clock says {wall}, which cannot be.",
            "Set the clock or allow NTP; the box speaks all the same.",
        )
    return Check("clock", "ok", f"The clock says {wall}.")


def _memory() -> Check:
    available = psutil.virtual_memory().available
    mine = psutil.Process().memory_info().rss
    says = f"{available // MIB} MiB available; this process uses {mine // MIB} MiB."
    if available < LOW_MEMORY_BYTES:
        return Check("memory", "warn", says, "Stop what else runs on this box.")
    return Check("memory", "ok", says)


def _pack(pack: LoadedPack) -> Check:
    voice = pack.voice
    says = (
        f"{pack.name} speaks {', '.join(voice.dialects)} as {', '.join(voice.voices)}; "
        f"digest {pack.sha256[:12]}."
    )
    return Check("pack", "ok", says)


def _dialects(bases: Bases) -> Check:
    """Dialect packs that came with the software."""
    wanted = [directory.name for directory in dialect_directories()]
    packs = load_dialects(bases)
    spoken = [dialect for pack in packs for dialect in pack.voice.dialects]
    if missing := sorted(set(wanted) - set(spoken)):
        return Check(
            "dialects",
            "warn",
            f"The dialect packs for {', '.join(missing)} cannot be used.",
            "Install the package again.",
        )
    names = ", ".join(pack.name for pack in packs)
    return Check("dialects", "ok", f"{names} speak {', '.join(spoken)}.")


def measure(pack: LoadedPack) -> Check:
    """Measure how fast a pack speaks on this box.

    Args:
        pack: A loaded pack.

    Returns:
        The finding, with the real-time factor and the time to first sound.
    """
    symbols = read(TEST_SENTENCE).symbols
    factors, firsts = [], []
    for _ in range(RTF_RUNS):
        began = time.perf_counter()
        first_s, samples = 0.0, 0
        for chunk in pack.voice.speak(symbols, voice=pack.voice.voices[0]):
            first_s = first_s or time.perf_counter() - began
            samples += chunk.size
        if samples == 0:
            return Check(
                "speed", "fail", f"{pack.name} gives no sound.", "Report this."
            )
        factors.append((time.perf_counter() - began) * SAMPLE_RATE / samples)
        firsts.append(first_s)
    rtf, first_ms = statistics.median(factors), statistics.median(firsts) * 1000
    says = f"RTF {rtf:.3f} on this box, first sound after {first_ms:.0f} ms."
    if rtf >= TOO_SLOW_RTF:
        return Check("speed", "fail", says, "The box cannot speak as fast as it plays.")
    if rtf >= SLOW_RTF:
        return Check("speed", "warn", says, "Stop what else runs on this box.")
    return Check("speed", "ok", says)


def _port(settings: EdgeSettings) -> Check:
    port = settings.http.port
    with socket.socket() as probe:
        probe.settimeout(1.0)
        is_taken = port != 0 and probe.connect_ex(("127.0.0.1", port)) == 0
    if is_taken:
        return Check("port", "ok", f"Something answers on port {port}: a running box?")
    return Check("port", "ok", f"Port {port} is free.")
