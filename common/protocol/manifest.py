"""The manifest of a pack: what a signed voice is, says and weighs.

Rules of this module:

* ``manifest.json`` lists every other file of its folder with size and SHA-256, so that
  one signature over the manifest holds for all of them.
* The pack's digest stands on the canonical bytes of everything the manifest says,
  fields of a later Yaohe included; layout and order of the file do not matter.
* Known fields are strict, unknown ones ignored, an unknown major format refused.
* Any bytes give a manifest or ``pack_invalid``.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from common.complaint import complaint
from common.errors import YaoheError
from common.protocol.canonical import canonical_bytes, strict_object
from common.protocol.version import VERSION_FORM
from common.text.symbols import SPEAKER_SLOTS

MANIFEST_NAME = "manifest.json"
SIGNATURE_NAME = "manifest.dsse.json"
"""The signed envelope beside the manifest; neither of the two lists itself."""
FORMAT = "yaohe-pack/1"
MAX_MANIFEST_BYTES = 256 * 1024
MAX_FILES = 256
MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_PACK_BYTES = 1024 * 1024 * 1024
MAX_PATH_CHARACTERS = 200
MAX_NOTE_CHARACTERS = 1000
MAX_GOLDEN = 64
MAX_GOLDEN_CHARACTERS = 200
MAX_GOLDEN_MS = 60_000
MAX_CONTEXT_FRAMES = 1000
MAX_QUALITY = 100
SAMPLE_RATE = 24_000
MAX_HOP = 4800
"""In samples of one frame."""
FALLBACK_PROVIDER = "cpu"

Name = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z")]
Sha256 = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{64}\z")]
Note = Annotated[str, StringConstraints(max_length=MAX_NOTE_CHARACTERS)]
# No part begins with a dot or is empty: a path can neither climb nor hide.
PackPath = Annotated[
    str,
    StringConstraints(
        pattern=r"\A[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*\z",
        max_length=MAX_PATH_CHARACTERS,
    ),
]
_FORMAT = re.compile(r"yaohe-pack/1(\.[0-9]{1,4})?")


class Part(BaseModel):
    """A part of a manifest: strict in what it knows, blind to the rest."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


class Voice(Part):
    """A logical voice.

    Attributes:
        speaker: The model's speaker input.
        gender: For people who choose.
    """

    speaker: Annotated[int, Field(ge=0, lt=SPEAKER_SLOTS)]
    gender: Name | None = None


class SymbolTable(Part):
    """The symbol table the weights stand on.

    Attributes:
        version: Its version.
        size: Rows of the embedding.
    """

    version: Annotated[int, Field(ge=1)]
    size: Annotated[int, Field(ge=1, le=4096)]


class Stages(Part):
    """The weights of one provider, a file for each stage."""

    encoder: PackPath
    prosody: PackPath
    decoder: PackPath


class Context(Part):
    """Frames that the decoder must see around a chunk."""

    left: Annotated[int, Field(ge=0, le=MAX_CONTEXT_FRAMES)]
    right: Annotated[int, Field(ge=0, le=MAX_CONTEXT_FRAMES)]


class Golden(Part):
    """A phrase the pack must speak before it may speak in a shop.

    Attributes:
        text: What to say.
        voice: By which voice.
        dialect: In which dialect.
        duration_ms: Its length in milliseconds.
        tolerance_ms: How far another runtime may be off.
        loudness_db: Its level, dB relative to full scale.
    """

    text: Annotated[
        str, StringConstraints(min_length=1, max_length=MAX_GOLDEN_CHARACTERS)
    ]
    voice: Name
    dialect: Name
    duration_ms: Annotated[int, Field(ge=1, le=MAX_GOLDEN_MS)]
    tolerance_ms: Annotated[int, Field(ge=0, le=MAX_GOLDEN_MS)]
    loudness_db: Annotated[float, Field(ge=-120, le=0)]


class Teacher(Part):
    """Who taught the voice; a student inherits what this licence says.

    Attributes:
        name: The teacher.
        licence: Of its weights.
        sha256: Digest of its weights, if they are one file.
        note: Anything a lawyer should read.
    """

    name: Name
    licence: Note
    sha256: Sha256 | None = None
    note: Note = ""


class Licences(Part):
    """Licences of the pack's own parts."""

    code: Note
    weights: Note
    data: Note


class File(Part):
    """A file of the pack.

    Attributes:
        sha256: Its digest.
        size: Its length in bytes.
    """

    sha256: Sha256
    size: Annotated[int, Field(ge=0, le=MAX_FILE_BYTES)]


class Requires(Part):
    """What a dialect pack stands on.

    Attributes:
        acoustic: Digest of the pack whose weights it speaks with.
    """

    acoustic: Sha256


class Manifest(Part):
    """A pack's manifest; build it with :func:`parse_manifest`.

    Attributes:
        format: ``yaohe-pack/1``, perhaps with a minor number.
        name: The pack's name.
        version: SemVer; compare with :func:`common.protocol.version.parse_version`.
        created: When it was packed.
        voices: Logical voices in the order of their speakers; the first is the default.
        dialects: Dialects it speaks.
        symbols: The symbol table it was made with.
        rules: The text rules it was made with.
        sample_rate: Samples per second.
        hop: Samples of one frame.
        weights: Files by provider; a provider that is absent takes those of ``cpu``.
            Empty only in a dialect pack.
        context: What the decoder must see around a chunk.
        noise_seed: Seed of the vocoder's noise.
        quality: Rank among packs and renditions.
        golden: Phrases it must speak.
        teacher: Who taught it.
        licences: Its licences.
        files: Every other file of the folder.
        requires: What a dialect pack stands on.
        contours: File of tone contours.
        lexicon: File of readings.
    """

    format: str
    name: Name
    version: Annotated[str, StringConstraints(pattern=VERSION_FORM, max_length=64)]
    created: AwareDatetime
    voices: Annotated[dict[Name, Voice], Field(min_length=1, max_length=64)]
    dialects: Annotated[list[Name], Field(min_length=1, max_length=64)]
    symbols: SymbolTable
    rules: Annotated[int, Field(ge=0)]
    sample_rate: Annotated[int, Field(ge=SAMPLE_RATE, le=SAMPLE_RATE)]
    hop: Annotated[int, Field(ge=1, le=MAX_HOP)]
    weights: Annotated[dict[Name, Stages], Field(max_length=16)]
    context: Context
    noise_seed: Annotated[int, Field(ge=0, le=2**32 - 1)]
    quality: Annotated[int, Field(ge=0, le=MAX_QUALITY)]
    golden: Annotated[list[Golden], Field(max_length=MAX_GOLDEN)]
    teacher: Teacher
    licences: Licences
    files: Annotated[dict[PackPath, File], Field(max_length=MAX_FILES)]
    requires: Requires | None = None
    contours: PackPath | None = None
    lexicon: PackPath | None = None

    @field_validator("format")
    @classmethod
    def _format(cls, value: str) -> str:
        """Refuse another major format."""
        if not _FORMAT.fullmatch(value):
            raise ValueError(f"this Yaohe reads {FORMAT}")
        return value

    @field_validator("voices")
    @classmethod
    def _order(cls, value: dict[str, Voice]) -> dict[str, Voice]:
        """Order by speaker: the order in the file is not part of the digest."""
        return dict(sorted(value.items(), key=lambda pair: (pair[1].speaker, pair[0])))

    @model_validator(mode="after")
    def _whole(self) -> Manifest:
        """Check what one field says of another."""
        used = {path for stages in self.weights.values() for _, path in stages}
        used |= {path for path in (self.contours, self.lexicon) if path}
        if missing := sorted(used - self.files.keys()):
            raise ValueError(f"{missing[0]} is not among the files")
        if FALLBACK_PROVIDER not in self.weights and (
            self.weights or not self.requires
        ):
            raise ValueError(f"weights for {FALLBACK_PROVIDER} are missing")
        if len(set(self.dialects)) < len(self.dialects):
            raise ValueError("a dialect stands twice")
        for phrase in self.golden:
            if phrase.voice not in self.voices or phrase.dialect not in self.dialects:
                raise ValueError(
                    "a golden phrase in a voice or dialect that is not here"
                )
        self._check_files()
        return self

    def _check_files(self) -> None:
        """Refuse files that could not lie in one folder, or that fill a disk."""
        folded = {path.casefold() for path in self.files}
        if len(folded) < len(self.files):
            raise ValueError("two files differ only in case")
        if folded & {MANIFEST_NAME, SIGNATURE_NAME}:
            raise ValueError("the manifest and its signature list themselves")
        for path in folded:
            if any(path.startswith(other + "/") for other in folded):
                raise ValueError("a file stands inside a file")
        if sum(file.size for file in self.files.values()) > MAX_PACK_BYTES:
            raise ValueError(f"more than {MAX_PACK_BYTES} bytes")

    @property
    def label(self) -> str:
        """``name@version``, as provenance and logs name a pack."""
        return f"{self.name}@{self.version}"

    def stages(self, provider: str) -> Stages | None:
        """The weights for a provider, else those for ``cpu``; None if it has none."""
        return self.weights.get(provider) or self.weights.get(FALLBACK_PROVIDER)


def parse_manifest(data: bytes) -> Manifest:
    """Read a manifest.

    Args:
        data: Content of ``manifest.json``; any bytes are accepted.

    Returns:
        The manifest, checked in itself. Whether the files are as it says is not
        checked here.

    Raises:
        YaoheError: ``pack_invalid``: it is none, or one of another major format.
    """
    try:
        return Manifest.model_validate_json(_canonical(data))
    except ValidationError as refusal:
        place, wrong = complaint(refusal)
        where = ".".join(str(part) for part in place) or "manifest"
        raise _refused(f"{where}: {wrong}") from None


def pack_digest(data: bytes) -> str:
    """The digest that names a pack.

    Args:
        data: Content of ``manifest.json``.

    Returns:
        SHA-256 of the canonical bytes, 64 hexadecimal digits.

    Raises:
        YaoheError: ``pack_invalid``: the bytes are no JSON object.
    """
    return hashlib.sha256(_canonical(data)).hexdigest()


def manifest_bytes(manifest: Manifest) -> bytes:
    """Write a manifest for people: what a packer puts into ``manifest.json``.

    Args:
        manifest: Any manifest.

    Returns:
        Indented JSON with a final newline.
    """
    values = manifest.model_dump(mode="json", exclude_none=True)
    return (json.dumps(values, ensure_ascii=False, indent=2) + "\n").encode()


def _canonical(data: bytes) -> bytes:
    """The canonical bytes of a manifest, whoever wrote it."""
    values = strict_object(data, limit=MAX_MANIFEST_BYTES, code="pack_invalid")
    return canonical_bytes(values, code="pack_invalid")


def _refused(reason: str) -> YaoheError:
    """The error for bytes that are no manifest."""
    return YaoheError("pack_invalid", f"not a pack's manifest: {reason}")
