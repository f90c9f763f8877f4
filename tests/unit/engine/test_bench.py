"""The benchmark of the engine runs, on tiny assets, and says what it promises."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.bench.bench_engine import Plan, run


@pytest.mark.slow
def test_the_benchmark_measures_both_sides(tmp_path: Path) -> None:
    figure = tmp_path / "engine.svg"
    plan = dataclasses.replace(
        Plan(size="tiny", steps=20, counts=(1, 16), pairs=1, threads=1),
        long_steps=120,
        churn=40,
        cache_mib=256,
        figure=figure,
    )
    result = run(plan)
    keys = {"ratio_1", "ratio_16", "ratio_sound_16", "growth_tokens", "growth_sound"}
    assert all(result[key] > 0 for key in (*keys, "ratio_batch_16"))
    assert [row["at once"] for row in result["rows"]] == [1, 16]
    assert result["identical_tokens"] is True
    assert result["identical_tokens_compared"] == 2 + 16
    churn, early = result["churn"], result["early_start"]
    assert churn["survivors_identical"] == churn["survivors_compared"] > 0
    assert churn["slots_still_held"] == 0
    assert 0 < churn["aborted"] < churn["requests"] == 40
    assert early["first_sound_step"] <= 12
    assert early["exact_max_diff"] <= 1e-6 < early["windowed_max_diff"]
    # No claim on playback here: tiny assets look less far ahead than pieces are planned for.
    assert early["underrun_s"] >= 0
    # Our own file, written a moment ago.
    assert ElementTree.parse(figure).getroot().tag.endswith("svg")  # noqa: S314
