"""Whoever listens to the engine's thread is told how it ends, whatever happens."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch", reason="it comes with the extra engine")

from cloud.engine.chattts.driver import Driver  # noqa: E402
from cloud.engine.chattts.outlet import Outlet  # noqa: E402
from cloud.engine.chattts.sampler import Sampling  # noqa: E402
from cloud.engine.chattts.scheduler import Scheduler  # noqa: E402
from cloud.engine.chattts.script import Line  # noqa: E402
from cloud.engine.chattts.sequence import Tokenizer  # noqa: E402
from cloud.engine.chattts.stream import Vocoder  # noqa: E402
from cloud.engine.chattts.utterance import Manner, Utterance  # noqa: E402
from common.errors import YaoheError  # noqa: E402
from tests.unit.engine.core_parts import runner, tiny  # noqa: E402

pytestmark = pytest.mark.slow


class Stage:
    """A driver and what it takes to speak with it."""

    def __init__(self) -> None:
        self.scheduler = Scheduler(runner())
        self.vocoder = Vocoder(tiny())
        self.driver = Driver(self.scheduler, self.vocoder)
        self.tokenizer = Tokenizer(tiny().tokenizer)

    def utterance(self, *texts: str, outlet: Outlet | None = None) -> Utterance:
        """Something to say, of a few steps each."""
        return Utterance(
            [Line(self.tokenizer.words(text)) for text in texts],
            Manner(None, 5, seed=1, sampling=Sampling(max_steps=12)),
            self.tokenizer,
            self.vocoder,
            outlet or Outlet(1 << 20, lambda: None),
        )


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def running(stage: Stage) -> Iterator[Stage]:
    thread = threading.Thread(target=stage.driver.run)
    thread.start()
    yield stage
    stage.driver.stop()
    thread.join()


async def heard(outlet: Outlet) -> int:
    """Samples until the end."""
    samples = 0
    while (chunk := await outlet.get()) is not None:
        samples += chunk.size
    return samples


async def told(outlet: Outlet) -> str:
    """The code of the error that ends it."""
    with pytest.raises(YaoheError) as caught:
        await heard(outlet)
    return caught.value.code


async def test_pieces_follow_each_other_to_the_end(running: Stage) -> None:
    utterance = running.utterance("一丁", "七", "上下")
    running.driver.begin(utterance)
    assert await heard(utterance.outlet) == 3 * (2 * 12 - 1) * 256
    assert not running.scheduler.is_busy


async def test_who_comes_before_the_stop_is_read_is_told(stage: Stage) -> None:
    stage.driver.stop()
    utterance = stage.utterance("一丁")
    stage.driver.begin(utterance)
    stage.driver.run()
    assert await told(utterance.outlet) == "not_ready"


async def test_who_comes_after_the_stop_is_told(stage: Stage) -> None:
    stage.driver.stop()
    stage.driver.run()
    utterance = stage.utterance("一丁")
    stage.driver.begin(utterance)
    assert await told(utterance.outlet) == "not_ready"


async def test_who_is_being_spoken_when_it_stops_is_told(stage: Stage) -> None:
    utterance = stage.utterance(*["一丁"] * 50)
    stage.driver.begin(utterance)
    thread = threading.Thread(target=stage.driver.run)
    thread.start()
    assert (await utterance.outlet.get()) is not None
    stage.driver.stop()
    assert await told(utterance.outlet) == "not_ready"
    thread.join()


async def test_an_utterance_that_breaks_ends_no_other(
    running: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = running.utterance("一丁")
    monkeypatch.setattr(broken, "next_request", lambda: 1 / 0)
    sound = running.utterance("七")
    running.driver.begin(broken)
    running.driver.begin(sound)
    assert await told(broken.outlet) == "internal_error"
    assert await heard(sound.outlet) == (2 * 12 - 1) * 256


async def test_who_leaves_before_it_began_is_never_spoken(stage: Stage) -> None:
    utterance = stage.utterance("一丁")
    stage.driver.begin(utterance)
    stage.driver.leave(utterance)
    stage.driver.stop()
    stage.driver.run()
    assert stage.scheduler.steps == 0
    assert not stage.scheduler.is_busy
