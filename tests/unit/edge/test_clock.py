from __future__ import annotations

from pathlib import Path

from edge.clock import RELEASE_FLOOR_S, Clock, migrations
from edge.db import Store


def test_time_is_never_before_the_release() -> None:
    clock = Clock(wall=lambda: 0.0)
    assert clock.now() == RELEASE_FLOOR_S
    assert clock.state().is_behind


def test_a_right_clock_is_taken_as_it_is() -> None:
    clock = Clock(wall=lambda: RELEASE_FLOOR_S + 5000.0)
    assert clock.now() == RELEASE_FLOOR_S + 5000.0
    assert not clock.state().is_behind


def test_a_box_without_a_clock_goes_on_from_the_last_time_it_knew(
    tmp_path: Path,
) -> None:
    store = Store(tmp_path / "state.db", migrations)
    clock = Clock(store, wall=lambda: RELEASE_FLOOR_S + 9000.0)
    clock.load()
    clock.save()
    store.close()
    store = Store(tmp_path / "state.db", migrations)
    assert store.wait_settled(20)
    clock = Clock(store, wall=lambda: 0.0)
    clock.load()
    assert clock.now() == RELEASE_FLOOR_S + 9000.0
    assert clock.state().is_behind
    store.close()


def test_a_clock_whose_file_is_gone_still_tells_a_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    store = Store(tmp_path / "file" / "state.db", migrations)
    clock = Clock(store, wall=lambda: 0.0)
    clock.load()
    clock.save()
    assert clock.now() == RELEASE_FLOOR_S
    store.close()
