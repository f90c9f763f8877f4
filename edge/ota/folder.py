"""A pack from a folder, such as a memory stick: the same way as over the line."""

from __future__ import annotations

import hashlib
from pathlib import Path

from common.errors import YaoheError
from common.protocol.manifest import (
    MANIFEST_NAME,
    MAX_MANIFEST_BYTES,
    SIGNATURE_NAME,
    Manifest,
    parse_manifest,
)
from common.protocol.repair import CHUNK_BYTES
from common.trust.envelope import MAX_ENVELOPE_BYTES, Keyring
from common.trust.packs import check_signature
from edge.ota.download import Part
from edge.ota.ledger import Update
from edge.ota.refusal import Refused
from edge.ota.updater import Candidate, Updater
from edge.packs import LoadedPack

CHECKPOINT = 32
"""Chunks after which what came is noted."""


def install(
    directory: Path, keyring: Keyring, updater: Updater, *, patience_s: float = 0.0
) -> LoadedPack | None:
    """Install a signed pack.

    Args:
        directory: Its folder.
        keyring: Whose signatures count.
        updater: Brings packs to this box.
        patience_s: How long to wait for another process that installs, in seconds.

    Returns:
        The pack, which speaks from now on; None when it is the one that does.

    Raises:
        Refused: Why it must not.
        Busy: Another process installs.
        NoRoom: The disk cannot hold it now.
        OSError: A disk refuses.
    """
    content, manifest = _signed(directory, keyring)
    name = hashlib.sha256(content).hexdigest()
    candidate = Candidate(name, len(content), manifest.name, manifest.version)
    with updater.depot.lock(patience_s):
        update = updater.offer(candidate, by_hand=True)
        if update is None:
            return None
        try:
            return _brought(directory, content, update, updater)
        except Refused as refusal:
            updater.refuse(update, refusal)
            raise


def _signed(directory: Path, keyring: Keyring) -> tuple[bytes, Manifest]:
    """The manifest, once its signature holds."""
    content = _read(directory / MANIFEST_NAME, MAX_MANIFEST_BYTES)
    try:
        envelope = _read(directory / SIGNATURE_NAME, MAX_ENVELOPE_BYTES)
        check_signature(content, envelope, keyring)
    except FileNotFoundError:
        raise Refused("bad_signature", f"{directory} holds no {SIGNATURE_NAME}") from (
            None
        )
    except YaoheError as error:
        raise Refused("bad_signature", error.message) from None
    try:
        return content, parse_manifest(content)
    except YaoheError as error:
        raise Refused("unfit", error.message) from None


def _brought(
    directory: Path, content: bytes, update: Update, updater: Updater
) -> LoadedPack:
    if not updater.depot.has(update.manifest, update.size):
        part = updater.open_part(update.manifest, update.size)
        _fill(part, content, updater)
    missing = updater.admit(update)
    update = updater.ledger.find(update.manifest) or update
    manifest = updater.manifest(update)
    if missing:
        updater.ledger.move(update.manifest, "receiving")
        update = update._replace(state="receiving")
    for path, file in manifest.files.items():
        if file.sha256 in missing:
            _copy(directory / path, updater.open_part(file.sha256, file.size), updater)
            del missing[file.sha256]
    return updater.finish(update)


def _copy(source: Path, part: Part, updater: Updater) -> None:
    """Bring a file in, chunk by chunk, beginning with what is missing."""
    try:
        with source.open("rb") as file:
            if source.stat().st_size != part.size:
                raise Refused("damaged", f"{source.name} has another length")
            for count, index in enumerate(sorted(part.missing), start=1):
                file.seek(index * CHUNK_BYTES)
                part.write(index, file.read(part.length(index)))
                if count % CHECKPOINT == 0:
                    updater.ledger.keep_hints(part.sha256, part.sync())
        if not updater.adopt(part):
            raise Refused("damaged", f"{source.name} is not the file that was signed")
    except FileNotFoundError:
        raise Refused("damaged", f"{source.name} is missing") from None
    finally:
        part.close()


def _fill(part: Part, content: bytes, updater: Updater) -> None:
    """Bring the manifest in, which was read already."""
    try:
        for index in sorted(part.missing):
            part.write(index, content[index * CHUNK_BYTES :][: part.length(index)])
        if not updater.adopt(part):
            raise Refused("damaged", "the manifest changed while it was read")
    finally:
        part.close()


def _read(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise Refused("unfit", f"{path.name} has more than {limit} bytes")
    return content
