"""Tables of contours: what is understood, what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from common.errors import YaoheError
from common.protocol.contours import MAX_CONTOURS_BYTES, parse_contours

SCALE = {"middle": 250, "step": 180, "fall": -120, "drop": -70, "hold": 600}
TABLE: dict[str, Any] = {
    "format": "yaohe-contours/1",
    "dialects": {
        "sc": {
            "tones": {
                "1": {"anywhere": [40, 45, 50], "last": [36, 40, 44]},
                "5": {"anywhere": [28, 24, 20], "after": {"1": [30, 26, 22]}},
            },
            "segments": {"ɲ": "n"},
            "checked": 1200,
            "scales": {"woman": SCALE},
        }
    },
}


def written(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode()


def changed(**values: Any) -> bytes:
    table = json.loads(json.dumps(TABLE))
    table["dialects"]["sc"] |= values
    return written(table)


def test_a_table_is_understood_and_what_is_unknown_is_passed_over() -> None:
    table = parse_contours(written({**TABLE, "later": [1, 2]}))
    chengdu = table.dialects["sc"]
    assert chengdu.tones["1"].last == [36, 40, 44]
    assert chengdu.tones["1"].first is None
    assert chengdu.tones["5"].after == {"1": [30, 26, 22]}
    assert (chengdu.segments, chengdu.checked) == ({"ɲ": "n"}, 1200)
    assert chengdu.scales["woman"].model_dump() == SCALE
    assert not parse_contours(changed(scales={})).dialects["sc"].scales


def test_another_major_format_is_refused() -> None:
    parse_contours(written({**TABLE, "format": "yaohe-contours/1.9"}))
    with pytest.raises(YaoheError, match="format"):
        parse_contours(written({**TABLE, "format": "yaohe-contours/2"}))


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"tones": {}}, "at least 1"),
        ({"tones": {"7": {"anywhere": [30, 30, 30]}}}, "pattern"),
        ({"tones": {"1": {"anywhere": [30, 30]}}}, "at least 3"),
        ({"tones": {"1": {"anywhere": [30, 30, 61]}}}, "less than or equal to 60"),
        ({"tones": {"1": {"anywhere": [30, 30, 4.5]}}}, "integer"),
        ({"tones": {"1": {"last": [30, 30, 30]}}}, "required"),
        ({"segments": {"ɲ": "a"}}, "cannot stand where"),
        ({"segments": {"-k": "k"}}, "cannot stand where"),
        ({"segments": {"<word>": "n"}}, "is no segment"),
        ({"segments": {"ɲ": "AA"}}, "is no segment"),
        ({"scales": {"woman": SCALE | {"middle": 2401}}}, "woman.middle: .* to 2400"),
        ({"scales": {"woman": SCALE | {"step": -1}}}, "greater than or equal to 0"),
        ({"scales": {"woman": SCALE | {"hold": 1001}}}, "less than or equal to 1000"),
        ({"scales": {"woman": {"hold": 500}}}, "required"),
        ({"scales": {"../x": SCALE}}, "pattern"),
        ({"checked": 100}, "greater than or equal to 500"),
    ],
)
def test_a_wrong_table_is_refused_with_the_place(
    wrong: dict[str, Any], why: str
) -> None:
    with pytest.raises(YaoheError, match=why) as refused:
        parse_contours(changed(**wrong))
    assert refused.value.code == "pack_invalid"


def test_a_table_that_would_fill_memory_is_not_read() -> None:
    with pytest.raises(YaoheError, match="at most"):
        parse_contours(b" " * (MAX_CONTOURS_BYTES + 1))
