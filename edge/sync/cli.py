"""What ``yaohe-edge enrol`` does."""

from __future__ import annotations

from edge.settings import EdgeSettings
from edge.sync.membership import enrol


def enrol_box(settings: EdgeSettings, code: str, cloud: str) -> str:
    """Enrol and say what this box is now.

    Args:
        settings: The box's settings.
        code: The claim code as it was typed.
        cloud: Address of the cloud.

    Returns:
        One line for a person.

    Raises:
        YaoheError: Why it is none of a chain's.
    """
    told = enrol(code, cloud, settings.data).enrolled
    groups = f", groups {' '.join(told.groups)}" if told.groups else ""
    return (
        f"this box is {told.box} of chain {told.chain}{groups}; "
        "`yaohe-edge run` connects it"
    )
