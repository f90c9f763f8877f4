"""From a box's membership to what the line hands its packs to."""

from __future__ import annotations

from pathlib import Path

from common.errors import YaoheError
from edge.ota.desk import OtaDesk
from edge.ota.service import Ota
from edge.sync.membership import load_membership


def desk_of(ota: Ota | None, data: Path) -> OtaDesk | None:
    """The desk for packs that come over the line.

    Args:
        ota: The box's packs.
        data: The box's data folder.

    Returns:
        The desk; None for a box that never enrolled or takes no packs.
    """
    try:
        membership = load_membership(data)
    except YaoheError:
        # Whoever builds the line says so.
        return None
    if ota is None or membership is None:
        return None
    return OtaDesk(membership.enrolled.chain, ota)
