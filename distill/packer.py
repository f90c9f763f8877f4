"""Makes packs: a folder of exported graphs becomes a voice that a box accepts.

Export leaves a *draft*: the graphs with a manifest, all voices, no golden phrases. A
pack is cut from a draft: its voices are chosen, it gets its name and version, and it
speaks its golden phrases once, so that a box can hear whether it still does. A dialect
pack is cut from a finished pack, whose weights it pins, and a table of contours.
Packing the same twice gives the same bytes. Nothing here needs torch.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from common.errors import YaoheError
from common.files import make_directory, write_atomic
from common.protocol.contours import Contours, parse_contours
from common.protocol.manifest import (
    FORMAT,
    MANIFEST_NAME,
    SIGNATURE_NAME,
    Context,
    File,
    Golden,
    Licences,
    Manifest,
    Requires,
    Stages,
    SymbolTable,
    Teacher,
    Voice,
    manifest_bytes,
)
from common.text import RULES_VERSION
from common.text.symbols import TABLE_SIZE, TABLE_VERSION
from common.voice.golden import check_golden, measure
from common.voice.pack import Pack, load_pack
from common.voice.source import HOP, SAMPLE_RATE
from common.voice.speak import Speaker

GRAPHS = {stage: f"{stage}.onnx" for stage in ("encoder", "prosody", "decoder")}
CONTOURS, LEXICON = "contours.json", "lexicon.tsv"
TABLES = Path(__file__).parent / "dialects"
"""Tables of contours by dialect, and words of its own where it has any."""
TOLERANCE_MS = 50
"""How far another runtime's length of a golden phrase may be off: four frames."""
SIZE_BUDGET = 12_000_000
"""Bytes of a pack that fits the fleet; a larger one is refused."""

WEIGHTS_LICENCE = {"kokoro-82m": "Apache-2.0"}
"""Licence of a student's weights by its teacher, where the teacher's allows it."""
DATA_LICENCE = (
    "Sentences made by this project from its own templates and from jieba's dictionary"
    " (MIT), spoken by the teacher."
)


@dataclass(frozen=True)
class Origin:
    """Where exported graphs come from.

    Attributes:
        name: Name of the draft.
        created: When they were exported.
        voices: Speaker slots by logical voice.
        context: Frames to each side that the decoder can see.
        noise_seed: Seed of the vocoder's noise.
        teacher: Who taught them.
    """

    name: str
    created: datetime
    voices: Mapping[str, Voice]
    context: int
    noise_seed: int
    teacher: Teacher


@dataclass(frozen=True)
class Release:
    """What a pack calls itself.

    Attributes:
        name: Its name.
        version: SemVer.
        voices: Which of the draft's voices it holds; the lowest speaker slot is its
            default.
        golden: Phrases it must speak, each in every voice.
        quality: Rank among packs and renditions.
        dialect: What it speaks.
    """

    name: str
    version: str
    voices: Sequence[str]
    golden: Sequence[str]
    quality: int
    dialect: str = "zh"


def _file(data: bytes) -> File:
    """Digest and size of a file."""
    return File(sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def write_draft(folder: Path, origin: Origin) -> Pack:
    """Give a folder of exported graphs its manifest.

    Args:
        folder: Holds ``encoder.onnx``, ``prosody.onnx`` and ``decoder.onnx``.
        origin: Where they come from.

    Returns:
        The draft.

    Raises:
        YaoheError: ``pack_invalid`` where a graph is missing.
    """
    if missing := [name for name in GRAPHS.values() if not (folder / name).is_file()]:
        raise YaoheError("pack_invalid", f"{folder} has no {missing[0]}; export first")
    weights = WEIGHTS_LICENCE.get(origin.teacher.name, origin.teacher.licence)
    manifest = Manifest(
        format=FORMAT,
        name=origin.name,
        version="0.0.0-draft",
        created=origin.created,
        voices=dict(origin.voices),
        dialects=["zh"],
        symbols=SymbolTable(version=TABLE_VERSION, size=TABLE_SIZE),
        rules=RULES_VERSION,
        sample_rate=SAMPLE_RATE,
        hop=HOP,
        weights={"cpu": Stages(**GRAPHS)},
        context=Context(left=origin.context, right=origin.context),
        noise_seed=origin.noise_seed,
        quality=0,
        golden=[],
        teacher=origin.teacher,
        licences=Licences(code="Apache-2.0", weights=weights, data=DATA_LICENCE),
        files={name: _file((folder / name).read_bytes()) for name in GRAPHS.values()},
    )
    write_atomic(folder / MANIFEST_NAME, manifest_bytes(manifest))
    return load_pack(folder, trusted=True)


def _measured(speaker: Speaker, release: Release) -> list[Golden]:
    """Speak the golden phrases in every voice."""
    golden = []
    for voice in release.voices:
        for text in release.golden:
            heard = measure(speaker, text, voice, release.dialect)
            golden.append(
                Golden(
                    text=text,
                    voice=voice,
                    dialect=release.dialect,
                    duration_ms=heard.duration_ms,
                    tolerance_ms=TOLERANCE_MS,
                    loudness_db=heard.loudness_db,
                )
            )
    return golden


def _released(draft: Manifest, release: Release) -> Manifest:
    """The draft's manifest under its new name, with the chosen voices."""
    if strangers := [name for name in release.voices if name not in draft.voices]:
        known = ", ".join(draft.voices)
        raise YaoheError(
            "unknown_voice", f"no voice {strangers[0]} in the draft; it has {known}"
        )
    values = draft.model_dump()
    values |= {"name": release.name, "version": release.version}
    values |= {"quality": release.quality, "golden": []}
    values["voices"] = {name: values["voices"][name] for name in release.voices}
    return Manifest.model_validate(values)


def _replace(built: Path, target: Path) -> None:
    """Put a finished folder in place of an older pack."""
    old = built.with_name(f"{built.name}.old")
    if target.exists():
        target.rename(old)
    built.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def _check_target(target: Path) -> None:
    """Refuse to replace a folder that is not a pack."""
    if not target.exists():
        return
    names = {path.name for path in target.iterdir()} if target.is_dir() else {"?"}
    ours = {MANIFEST_NAME, SIGNATURE_NAME, CONTOURS, LEXICON, *GRAPHS.values()}
    if names - ours:
        raise YaoheError(
            "invalid_request",
            f"{target} is there and is no pack; choose another folder",
        )


def is_current(there: Pack, source: Path, release: Release) -> bool:
    """Whether packing again would change nothing.

    Args:
        there: A finished pack.
        source: Folder of the draft, or of what a dialect pack stands on.
        release: What the pack should call itself.

    Returns:
        True where everything but the measured golden phrases is as it would be.
    """
    origin = load_pack(source, trusted=True)
    if release.dialect == "zh":
        wanted = _released(origin.manifest, release)
    else:
        wanted = _standing(origin, release, _tables(release.dialect))
    is_same = there.manifest.model_copy(update={"golden": []}) == wanted
    spoken = [(phrase.voice, phrase.text) for phrase in there.manifest.golden]
    return is_same and spoken == [
        (v, t) for v in release.voices for t in release.golden
    ]


def pack(draft: Path, release: Release, target: Path, /) -> Pack:
    """Cut a pack from a draft.

    Args:
        draft: Folder of the exported graphs with their manifest.
        release: What the pack calls itself.
        target: Its folder; an older pack there is replaced.

    Returns:
        The pack, loaded from where it lies now, its golden phrases spoken again.

    Raises:
        YaoheError: ``pack_invalid`` where the draft is none or the pack would be larger
            than :data:`SIZE_BUDGET`; ``unknown_voice``; ``invalid_request`` where
            ``target`` is something else.
    """
    source = load_pack(draft, trusted=True)
    manifest = _released(source.manifest, release)
    size = sum(file.size for file in manifest.files.values())
    if size > SIZE_BUDGET:
        raise YaoheError(
            "pack_invalid", f"{size} bytes; a pack may have {SIZE_BUDGET} at most"
        )
    files = {name: (draft / name).read_bytes() for name in manifest.files}
    return _built(manifest, files, release, target)


def pack_dialect(base: Path, release: Release, target: Path, /) -> Pack:
    """Cut a dialect pack, which speaks with the weights of another pack.

    Args:
        base: Folder of that pack; its digest is pinned.
        release: What the dialect pack calls itself.
        target: Its folder; an older pack there is replaced.

    Returns:
        The pack, loaded from where it lies now, its golden phrases spoken again.

    Raises:
        YaoheError: ``pack_invalid`` where the base is no pack with weights, or the
            dialect's table is none; ``unknown_voice``; ``unknown_dialect`` for one
            without a table; ``invalid_request`` where ``target`` is something else.
    """
    under = load_pack(base, trusted=True)
    files = _tables(release.dialect)
    return _built(_standing(under, release, files), files, release, target, under)


def _tables(dialect: str) -> dict[str, bytes]:
    """Files of a dialect pack."""
    sources = {CONTOURS: f"{dialect}.json", LEXICON: f"{dialect}.tsv"}
    files = {
        name: (TABLES / source).read_bytes()
        for name, source in sources.items()
        if (TABLES / source).is_file()
    }
    if CONTOURS not in files:
        raise YaoheError(
            "unknown_dialect", f"there is no table of contours for {dialect}"
        )
    return files


def read_table(dialect: str) -> Contours:
    """The table of contours that packs of a dialect are cut with.

    Args:
        dialect: Its name.

    Returns:
        The table.

    Raises:
        YaoheError: ``unknown_dialect``.
    """
    return parse_contours(_tables(dialect)[CONTOURS])


def _standing(base: Pack, release: Release, files: Mapping[str, bytes]) -> Manifest:
    """The manifest of a dialect pack on its base."""
    values = _released(base.manifest, release).model_dump()
    values |= {"dialects": [release.dialect], "weights": {}, "rules": RULES_VERSION}
    values |= {"requires": Requires(acoustic=base.sha256).model_dump()}
    values |= {"contours": CONTOURS}
    values |= {"lexicon": LEXICON if LEXICON in files else None}
    values |= {
        "files": {name: _file(data).model_dump() for name, data in files.items()}
    }
    return Manifest.model_validate(values)


def _built(
    manifest: Manifest,
    files: Mapping[str, bytes],
    release: Release,
    target: Path,
    under: Pack | None = None,
) -> Pack:
    """Write a pack beside its place, let it speak, and put it there."""
    _check_target(target)
    make_directory(target.parent)
    base = Speaker(under, provider="cpu") if under else None
    # Beside its place, so that it can be renamed; hidden, so that nobody loads half.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".packing-") as hidden:
        built = Path(hidden) / release.name
        built.mkdir()
        for name, data in files.items():
            write_atomic(built / name, data)

        def heard() -> Speaker:
            write_atomic(built / MANIFEST_NAME, manifest_bytes(manifest))
            return Speaker(load_pack(built, trusted=True), base=base, provider="cpu")

        golden = _measured(heard(), release)
        manifest = manifest.model_copy(update={"golden": golden})
        check_golden(heard())
        _replace(built, target)
    return load_pack(target, trusted=True)
