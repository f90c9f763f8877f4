"""Signed jobs: what the boxes of a scope are told to have; one for each scope."""

from __future__ import annotations

from cloud.fleet.db import FleetDb
from common.protocol import topics


class Jobs:
    """The newest job of each scope."""

    def __init__(self, db: FleetDb) -> None:
        """Remember where they are kept."""
        self._db = db

    def put(self, scope: str, envelope: bytes) -> None:
        """Replace a scope's job; a running service publishes it.

        Args:
            scope: Whose boxes are told.
            envelope: The job, signed.

        Raises:
            YaoheError: ``invalid_request``: there is no such scope.
        """
        str(topics.Job("any", scope))
        with self._db.change() as db:
            db.execute("INSERT OR REPLACE INTO jobs VALUES (?, ?)", (scope, envelope))

    def all(self) -> dict[str, bytes]:
        """Every scope's job."""
        rows = self._db.read("SELECT scope, envelope FROM jobs")
        return {row["scope"]: bytes(row["envelope"]) for row in rows}
