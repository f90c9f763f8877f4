"""Settings of the fleet: ``YAOHE_CLOUD_FLEET__*``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, StringConstraints

from common.settings import Section

MQTT_PORT = 8883
INVITATION_S = 7 * 24 * 3600
CERTIFICATE_DAYS = 5 * 365
MIN_TOKEN_CHARACTERS = 16


class FleetSettings(Section):
    """The boxes and how they reach the cloud.

    Attributes:
        enabled: Whether the service talks to a broker.
        chain: Name of the chain of shops.
        broker_host: Name or address under which boxes reach the broker.
        broker_port: Its port with TLS.
        bind: Address that the generated broker configuration listens on.
        invitation_s: Seconds that a claim code is valid.
        certificate_days: Days that a box's certificate is valid.
        judge: Python of the environment with the recogniser (``make judge``); it hears
            phrases of engines that choose readings themselves. Without one an engine of
            symbols renders them.
        operator_token: What operators send as ``Authorization: Bearer``, 16 characters
            or more; without one only this machine itself may see and push phrases.
    """

    enabled: bool = False
    chain: Annotated[
        str, StringConstraints(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z")
    ] = "main"
    broker_host: str = "127.0.0.1"
    broker_port: int = Field(MQTT_PORT, ge=1, le=65535)
    bind: str = "127.0.0.1"
    invitation_s: int = Field(INVITATION_S, ge=60)
    certificate_days: int = Field(CERTIFICATE_DAYS, ge=1)
    judge: Path | None = None
    operator_token: SecretStr | None = Field(None, min_length=MIN_TOKEN_CHARACTERS)
