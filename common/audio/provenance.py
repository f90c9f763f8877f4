"""Where a sound comes from: engine, pack, and the label of generated content.

It stands with every rendition and inside every container that has room for metadata,
under the field name ``AIGC`` that GB 45438-2025 asks for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from common.phrase import KEY_FORMAT
from common.text.symbols import TABLE_VERSION

METADATA_FIELD = "AIGC"
"""Name of the metadata field in WAV, Ogg, FLAC and ID3."""


@dataclass(frozen=True)
class Label:
    """The label of generated content, as the standard names its parts.

    Attributes:
        label: ``1`` generated, ``2`` possibly generated, ``3`` suspected.
        producer: Who offers the synthesis; the operator's name or code.
        produce_id: The producer's number for the content; empty takes the
            utterance's.
        propagator: Who spreads it, if that is known.
        propagate_id: The propagator's number for it.
    """

    label: str = "1"
    producer: str = "Yaohe"
    produce_id: str = ""
    propagator: str = ""
    propagate_id: str = ""

    def as_json(self, utterance: str = "") -> str:
        """The label's metadata value.

        Args:
            utterance: Stands in for an empty ``produce_id``.

        Returns:
            One line of JSON in ASCII.
        """
        return json.dumps(
            {
                "Label": self.label,
                "ContentProducer": self.producer,
                "ProduceID": self.produce_id or utterance,
                "ReservedCode1": "",
                "ContentPropagator": self.propagator,
                "PropagateID": self.propagate_id,
                "ReservedCode2": "",
            },
            separators=(",", ":"),
        )


@dataclass(frozen=True)
class Provenance:
    """Which machinery made a rendition.

    Attributes:
        engine: Name of the engine.
        pack: ``name@version`` of the pack; empty for an engine without packs.
        pack_sha256: The pack's digest; empty likewise.
        verified: Whether the pack's signature, or the check of the rendition, held.
        symbols: Version of the symbol table.
        rules: Version of the text rules.
        key_format: Version of the phrase key.
        seed: The engine's seed, if it draws.
        label: The label of generated content.
    """

    engine: str
    pack: str = ""
    pack_sha256: str = ""
    verified: bool = False
    symbols: int = TABLE_VERSION
    rules: int = 0
    key_format: int = KEY_FORMAT
    seed: int | None = None
    label: Label = field(default_factory=Label)

    def as_dict(self) -> dict[str, Any]:
        """The provenance as plain JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Provenance:
        """Rebuild what :meth:`as_dict` gave.

        Args:
            values: Its result; unknown fields are ignored.

        Returns:
            The provenance.

        Raises:
            KeyError: ``engine`` is missing.
        """
        known = {name: values[name] for name in cls.__annotations__ if name in values}
        label = values.get("label") or {}
        parts = {name: label[name] for name in Label.__annotations__ if name in label}
        return cls(**{"engine": values["engine"], **known, "label": Label(**parts)})
