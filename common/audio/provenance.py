"""Where a sound comes from, and that a machine made it.

Both travel inside every container as two named comments, plain JSON in ASCII, so that
the narrowest metadata format can carry them:

* ``AIGC``: the implicit label of GB 45438-2025, annex E, exactly its seven keys.
* ``YAOHE``: engine, pack, its digest, whether it was verified, versions and seed.

What cannot be read back is absent: a file that was edited elsewhere still plays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

LABEL_TAG = "AIGC"
"""Name of the label in every container."""
PROVENANCE_TAG = "YAOHE"
"""Name of the rest."""

LABEL_IS_GENERATED = "1"
"""The label's first key: certainly generated (2 possibly, 3 suspected)."""

MAX_VALUE = 16_384
"""Characters of one comment; longer ones are neither written nor read."""

Comments = tuple[tuple[str, str], ...]

_LABEL_KEYS = {
    "label": "Label",
    "producer": "ContentProducer",
    "produce_id": "ProduceID",
    "reserved_code1": "ReservedCode1",
    "propagator": "ContentPropagator",
    "propagate_id": "PropagateID",
    "reserved_code2": "ReservedCode2",
}


@dataclass(frozen=True)
class AigcLabel:
    """The AI-content label; an operator configures everything but the content's id.

    Attributes:
        label: ``1`` generated, ``2`` possibly generated, ``3`` suspected.
        producer: Name or code of the service that generated the content.
        produce_id: The producer's unique id of the content.
        reserved_code1: For the producer's own protection of integrity.
        propagator: Name or code of the service that spreads the content.
        propagate_id: The propagator's unique id of the content.
        reserved_code2: For the propagator's own protection of integrity.
    """

    label: str = LABEL_IS_GENERATED
    producer: str = "Yaohe"
    produce_id: str = ""
    reserved_code1: str = ""
    propagator: str = ""
    propagate_id: str = ""
    reserved_code2: str = ""

    def as_dict(self) -> dict[str, str]:
        """The label with the keys of the standard, in its order."""
        return {key: getattr(self, name) for name, key in _LABEL_KEYS.items()}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> AigcLabel:
        """Rebuild a label; keys that are missing or no strings are empty."""
        texts = {name: values.get(key) for name, key in _LABEL_KEYS.items()}
        return cls(**{n: v if isinstance(v, str) else "" for n, v in texts.items()})


@dataclass(frozen=True)
class Provenance:
    """Where one rendition comes from.

    Attributes:
        engine: Name of the engine, such as ``packed`` or ``kokoro``.
        pack: ``name@version`` of the pack; empty for an engine without one.
        pack_sha256: Hex digest of the pack's manifest; empty without one.
        verified: Whether the pack's signature was checked.
        table_version: Version of the symbol table; 0 where the engine reads itself.
        rules_version: Version of the text rules; 0 where unknown.
        seed: The seed, for an engine that has one.
        label: The AI-content label.
    """

    engine: str
    pack: str = ""
    pack_sha256: str = ""
    verified: bool = False
    table_version: int = 0
    rules_version: int = 0
    seed: int | None = None
    label: AigcLabel = field(default_factory=AigcLabel)

    def with_id(self, produce_id: str) -> Provenance:
        """The same with an id of the content, unless it already has one."""
        if self.label.produce_id or not produce_id:
            return self
        return replace(self, label=replace(self.label, produce_id=produce_id))

    def as_dict(self) -> dict[str, Any]:
        """Everything but the label as plain JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self)[:-1]}

    def comments(self) -> Comments:
        """The two comments that a container carries, name and value."""
        return (
            (LABEL_TAG, _dump(self.label.as_dict())),
            (PROVENANCE_TAG, _dump(self.as_dict())),
        )

    @classmethod
    def from_comments(cls, comments: Iterable[tuple[str, str]]) -> Provenance | None:
        """Read the provenance back.

        Args:
            comments: A container's comments; names in any case, others are ignored.

        Returns:
            The provenance, or None where the comments hold none of ours.
        """
        found = {name.upper(): value for name, value in comments}
        origin = _load(found.get(PROVENANCE_TAG))
        if origin is None or not isinstance(origin.get("engine"), str):
            return None
        label = AigcLabel.from_dict(_load(found.get(LABEL_TAG)) or {"Label": ""})
        known: dict[str, Any] = {
            name: value
            for name, value in origin.items()
            if name in _KINDS and type(value) in _KINDS[name]
        }
        return cls(**known, label=label)


_KINDS: dict[str, tuple[type, ...]] = {
    "engine": (str,),
    "pack": (str,),
    "pack_sha256": (str,),
    "verified": (bool,),
    "table_version": (int,),
    "rules_version": (int,),
    "seed": (int, type(None)),
}


def _dump(values: dict[str, Any]) -> str:
    return json.dumps(values, ensure_ascii=True, separators=(",", ":"))


def _load(text: str | None) -> dict[str, Any] | None:
    """A JSON object, or None for anything else."""
    if text is None or len(text) > MAX_VALUE:
        return None
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None
