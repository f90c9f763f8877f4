"""A pack on disk: the manifest read, every file's digest checked.

Nothing of a pack is used before all of it has been checked. Trust is the caller's: the
starter pack's is the wheel it came in, and ``--unsigned`` is a person's own decision;
anything else needs a signature.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import YaoheError
from common.protocol.contours import Contours, parse_contours
from common.protocol.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    SIGNATURE_NAME,
    Manifest,
    pack_digest,
    parse_manifest,
)
from common.text.lexicon import Lexicon
from common.text.symbols import TABLE_SIZE, TABLE_VERSION
from common.voice.source import HOP

if TYPE_CHECKING:
    from common.trust.envelope import Keyring

UNSIGNED = "bad_signature"
"""Reason of a refusal, for programs: nobody whom this machine trusts has signed."""
MAX_LEXICON_BYTES = 1 << 20
READ_BLOCK = 1 << 20
"""Bytes read at once while hashing."""


@dataclass(frozen=True)
class Pack:
    """A pack whose files are what its manifest says.

    Attributes:
        directory: Where it lies.
        manifest: What it says.
        sha256: Its digest.
    """

    directory: Path
    manifest: Manifest
    sha256: str

    @property
    def label(self) -> str:
        """``name@version``."""
        return self.manifest.label

    @property
    def base(self) -> str | None:
        """Digest of the pack whose weights it speaks with; None if it has its own."""
        requires = self.manifest.requires
        return requires.acoustic if requires and not self.manifest.weights else None

    def contours(self) -> Contours | None:
        """How it speaks its dialects; None where symbols are spoken as they come.

        Raises:
            YaoheError: ``pack_invalid``: its table is none, or lacks a dialect.
        """
        manifest = self.manifest
        if manifest.contours is None:
            return None
        table = parse_contours(_content(self.directory / manifest.contours))
        if missing := sorted(set(manifest.dialects) - table.dialects.keys()):
            raise YaoheError(
                "pack_invalid", f"{self.label} has no contours for {missing[0]}"
            )
        return table

    def lexicon(self) -> Lexicon:
        """Words that it has readings of its own for, in the dialects it speaks.

        Raises:
            YaoheError: ``pack_invalid`` with the wrong line.
        """
        manifest = self.manifest
        if manifest.lexicon is None:
            return Lexicon()
        if manifest.files[manifest.lexicon].size > MAX_LEXICON_BYTES:
            raise YaoheError("pack_invalid", f"{self.label} has too many words")
        try:
            text = _content(self.directory / manifest.lexicon).decode()
            found = Lexicon.parse(text)
        except UnicodeDecodeError:
            raise YaoheError("pack_invalid", f"{self.label}: no UTF-8 text") from None
        except YaoheError as error:
            raise YaoheError("pack_invalid", f"{self.label}: {error.message}") from None
        spoken = {d: w for d, w in found.words.items() if d in manifest.dialects}
        return Lexicon(spoken, found.digest)


def starter_directory() -> Path:
    """The pack inside the wheel, which speaks when nothing else can."""
    return Path(__file__).parent / "starter"


def dialect_directories() -> tuple[Path, ...]:
    """The dialect packs inside the wheel, which stand on the starter pack."""
    folder = Path(__file__).parent / "dialects"
    return tuple(sorted(path.parent for path in folder.glob(f"*/{MANIFEST_NAME}")))


def pack_of(directory: Path) -> str | None:
    """The digest that names the pack in a folder; nothing else is checked.

    Args:
        directory: Any folder.

    Returns:
        The digest; None where no manifest can be read.
    """
    try:
        return pack_digest((directory / MANIFEST_NAME).read_bytes())
    except (OSError, YaoheError):
        return None


def _content(path: Path) -> bytes:
    """The bytes of a file of a pack."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise YaoheError("pack_invalid", f"{path}: {error.strerror}") from None


def _digest(path: Path) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(READ_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _check_files(directory: Path, manifest: Manifest) -> None:
    """Compare every file with what the manifest says of it."""
    for name, expected in manifest.files.items():
        path = directory / name
        try:
            size = path.stat().st_size
            is_right = size == expected.size and _digest(path) == expected.sha256
        except OSError as error:
            raise YaoheError("pack_invalid", f"{path}: {error.strerror}") from None
        if not is_right:
            raise YaoheError("pack_invalid", f"{path}: not the file that was packed")


def _check_fit(manifest: Manifest) -> None:
    """Refuse a pack made for another symbol table or frame."""
    symbols = manifest.symbols
    if symbols.version > TABLE_VERSION or symbols.size != TABLE_SIZE:
        raise YaoheError(
            "pack_invalid",
            f"{manifest.label} needs symbol table {symbols.version},"
            f" this Yaohe has {TABLE_VERSION}",
        )
    if manifest.hop != HOP:
        raise YaoheError(
            "pack_invalid", f"{manifest.label} has frames of {manifest.hop} samples"
        )


def _check_origin(directory: Path, manifest: bytes, keyring: Keyring | None) -> None:
    """Refuse a manifest without a signature that counts here."""
    if keyring is None:
        raise YaoheError(
            "pack_invalid",
            f"{directory} has no signature ({SIGNATURE_NAME}) that is trusted here",
            data={"reason": UNSIGNED},
        )
    # Only a pack of another origin needs what signatures are checked with.
    from common.trust.envelope import MAX_ENVELOPE_BYTES
    from common.trust.packs import check_signature

    path = directory / SIGNATURE_NAME
    try:
        if path.stat().st_size > MAX_ENVELOPE_BYTES:
            raise YaoheError("pack_invalid", f"{path}: too large for a signature")
        envelope = path.read_bytes()
    except FileNotFoundError:
        raise YaoheError(
            "pack_invalid",
            f"{directory} has no signature ({SIGNATURE_NAME})",
            data={"reason": UNSIGNED},
        ) from None
    except OSError as error:
        raise YaoheError("pack_invalid", f"{path}: {error.strerror}") from None
    check_signature(manifest, envelope, keyring)


def load_pack(
    directory: Path, *, trusted: bool, keyring: Keyring | None = None
) -> Pack:
    """Read and check a pack.

    Args:
        directory: Its folder.
        trusted: Whether the caller vouches for the folder; otherwise it needs a
            signature.
        keyring: Whose signatures count; without it none does.

    Returns:
        The pack.

    Raises:
        YaoheError: ``pack_invalid`` with the reason.
    """
    path = directory / MANIFEST_NAME
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise YaoheError("pack_invalid", f"{path}: too large for a manifest")
        data = path.read_bytes()
    except OSError as error:
        raise YaoheError("pack_invalid", f"{path}: {error.strerror}") from None
    if not trusted:
        _check_origin(directory, data, keyring)
    manifest = parse_manifest(data)
    _check_fit(manifest)
    _check_files(directory, manifest)
    return Pack(directory, manifest, pack_digest(data))
