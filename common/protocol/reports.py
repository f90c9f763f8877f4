"""What people may read on the wire: messages of boxes and of enrolment, as JSON.

Rules of this module:

* A message is one pydantic model with ``v``; fields nobody knows are ignored, a version
  nobody knows is refused.
* Any bytes give a message or ``invalid_request``.
* A connection is named by the random boot of its process and a session number that
  rises within it, so that the will of an old connection, which may arrive late, never
  beats a newer birth.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)

from common.errors import YaoheError
from common.protocol.canonical import canonical_bytes, strict_object

REPORT_VERSION = 1
MAX_COUNTER = 2**53 - 1
MAX_GROUPS = 64
MAX_PACKS = 64
MAX_EVENT_BYTES = 64 * 1024
MAX_PEM_CHARACTERS = 16 * 1024
MAX_ROOT_CHARACTERS = 64 * 1024

Name = Annotated[str, StringConstraints(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,63}\z")]
Short = Annotated[str, StringConstraints(max_length=128)]
Pem = Annotated[str, StringConstraints(max_length=MAX_PEM_CHARACTERS)]
Hex = Annotated[str, StringConstraints(pattern=r"\A[0-9a-f]{1,128}\z")]
Counter = Annotated[int, Field(ge=0, le=MAX_COUNTER)]


class Report(BaseModel):
    """What every such message has.

    Attributes:
        v: Version of the message's form.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")

    MAX_BYTES: ClassVar[int] = 16 * 1024
    """Longest encoding that is read."""

    v: int = REPORT_VERSION

    @field_validator("v")
    @classmethod
    def _known(cls, value: int) -> int:
        """Refuse versions of the future."""
        if value != REPORT_VERSION:
            raise ValueError(f"version {value}, known is {REPORT_VERSION}")
        return value


class Birth(Report):
    """A box is up, or gone; retained, and the same form is the will.

    Attributes:
        up: Whether it is there.
        boot: Random, one for each start of the process.
        session: Rises with every connection of a boot.
        software: Version of Yaohe.
        machine: What it runs on.
    """

    up: bool
    boot: Hex
    session: Counter
    software: Short = ""
    machine: Short = ""


class State(Report):
    """A box's health, retained; the newest replaces the one before.

    Attributes:
        boot: The process that sent it.
        at: When, by the box's clock, seconds since 1970.
        clock_suspect: Whether that clock is clearly wrong.
        packs: ``name@version`` of the packs at hand.
        phrases: Phrases of the catalogue that can be played.
        catalogue: Newest sequence number by scope.
        waiting: Events that wait to be sent.
        dropped: Events that were given up because too many waited.
        lacking: Phrases that were announced and are not at hand.
        lacking_why: Why, in a word; empty when there is none.
    """

    boot: Hex
    at: Counter
    clock_suspect: bool = False
    packs: Annotated[list[Short], Field(max_length=MAX_PACKS)] = Field(
        default_factory=list
    )
    phrases: Counter = 0
    catalogue: Annotated[dict[Short, Counter], Field(max_length=1024)] = Field(
        default_factory=dict
    )
    waiting: Counter = 0
    dropped: Counter = 0
    lacking: Counter = 0
    lacking_why: Short = ""


class Event(Report):
    """Something that happened on a box; arrives at least once.

    Attributes:
        life: Random; (box, life, number) happened once.
        number: Counts up within a life, by one.
        oldest: The first number of this life that the box still keeps; what was before
            it is acknowledged or given up. 0 from the first release, which kept
            nothing once the broker had it.
        kind: What happened.
        at: When, by the box's clock, seconds since 1970.
        body: Its facts.
    """

    MAX_BYTES: ClassVar[int] = MAX_EVENT_BYTES

    life: Hex
    number: Counter
    oldest: Counter = 0
    kind: Name
    at: Counter
    body: dict[str, Any] = Field(default_factory=dict)


class EnrolRequest(Report):
    """A box with a claim code asks to be one of the chain.

    Attributes:
        claim: The public part of the claim code.
        request: Certificate signing request, PEM; the private key stays on the box.
        proof: Proof of the code's secret part over ``request``.
    """

    claim: Short
    request: Pem
    proof: Hex


class Enrolled(Report):
    """Everything a new box needs; proven by the claim's secret.

    Attributes:
        box: Its name: client id, topic part and common name of its certificate.
        chain: Its chain.
        groups: Groups it is in.
        certificate: Its certificate, PEM.
        authority: Certificate of the chain's authority, PEM.
        broker_host: Where the broker is.
        broker_port: Its port with TLS.
        root: The TUF root metadata it trusts from now on.
    """

    MAX_BYTES: ClassVar[int] = 128 * 1024

    box: Name
    chain: Name
    groups: Annotated[list[Name], Field(max_length=MAX_GROUPS)] = Field(
        default_factory=list
    )
    certificate: Pem
    authority: Pem
    broker_host: Short
    broker_port: Annotated[int, Field(ge=1, le=65535)]
    root: Annotated[str, StringConstraints(max_length=MAX_ROOT_CHARACTERS)]


class EnrolAnswer(Report):
    """An :class:`Enrolled` and its proof.

    Attributes:
        enrolled: The encoded :class:`Enrolled`.
        proof: Proof of the claim's secret over ``enrolled``.
    """

    MAX_BYTES: ClassVar[int] = 256 * 1024

    enrolled: str
    proof: Hex


R = TypeVar("R", bound=Report)


def encode(report: Report) -> bytes:
    """Write a message.

    Args:
        report: Any message.

    Returns:
        Its one spelling in JSON.
    """
    return canonical_bytes(report.model_dump(mode="json"), code="invalid_request")


def decode(kind: type[R], data: bytes) -> R:
    """Read a message.

    Args:
        kind: What it should be.
        data: Any bytes.

    Returns:
        The message.

    Raises:
        YaoheError: ``invalid_request``: the bytes are no such message.
    """
    values = strict_object(data, limit=kind.MAX_BYTES, code="invalid_request")
    try:
        return kind.model_validate(values)
    except ValidationError as refusal:
        problem = refusal.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in problem["loc"])
        reason = f"{kind.__name__} {where}: {problem['msg']}"
        raise YaoheError("invalid_request", f"not a message: {reason}") from None
