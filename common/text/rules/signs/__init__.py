"""Signs that are read, and signs that are silent."""

from __future__ import annotations

from common.text.rules.signs import early, late

__all__ = ["early", "late"]
