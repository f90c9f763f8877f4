"""The job's form: its bytes as they are on the wire, and any other bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import YaoheError
from common.protocol import reports
from common.protocol.job import Offer, PackJob

PATH = "packs/yaohe-man/1.2.0/manifest.json"
JOB = PackJob(
    chain="tea",
    scope="g/south",
    issued=1_780_000_000,
    targets=7,
    packs=[Offer(path=PATH, sha256="ab" * 32, size=1062, attempt=1)],
)
BYTES = (
    b'{"chain":"tea","issued":1780000000,"packs":[{"attempt":1,"path":"'
    + PATH.encode()
    + b'","sha256":"'
    + b"ab" * 32
    + b'","size":1062}],"scope":"g/south","targets":7,"v":1}'
)


def test_job_has_one_spelling() -> None:
    assert reports.encode(JOB) == BYTES
    assert reports.decode(PackJob, BYTES) == JOB


def test_fields_of_a_later_version_are_ignored() -> None:
    later = BYTES.replace(b'"chain"', b'"percent":1,"chain"')
    assert reports.decode(PackJob, later) == JOB


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"v":1', b'"v":2'),
        (b'"size":1062', b'"size":0'),
        (b'"size":1062', b'"size":"1062"'),
        (b'"size":1062', b'"size":99999999'),
        (b"abab", b"ABAB"),
        (b'"targets":7', b'"targets":-1'),
        (b'"chain":"tea"', b'"chain":"t/a"'),
        (b'"attempt":1', b'"attempt":1.5'),
    ],
)
def test_job_that_is_none_is_refused(old: bytes, new: bytes) -> None:
    assert old in BYTES
    with pytest.raises(YaoheError) as caught:
        reports.decode(PackJob, BYTES.replace(old, new, 1))
    assert caught.value.code == "invalid_request"


@given(st.data())
def test_damaged_jobs_give_a_job_or_one_error(data: st.DataObject) -> None:
    content = bytearray(BYTES)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at] = data.draw(st.integers(0, 255))
    code = "invalid_request"
    try:
        reports.decode(PackJob, bytes(content))
    except YaoheError as error:
        code = error.code
    assert code == "invalid_request"
