"""Long texts in the background: progress, files, limits, leaving."""

from __future__ import annotations

import asyncio
import io
import time
import wave
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest

from cloud.api.app import create_app
from cloud.engine.base import Chunk, Job
from cloud.jobs import runner
from cloud.settings import CloudSettings, JobSettings, QueueSettings
from common.audio.pcm import to_s16
from common.errors import YaoheError
from tests.unit.cloud.conftest import SYLLABLE, ToneEngine

LONG = ("欢迎光临，今天天气很好，请保管好随身物品。" * 1000)[:19_996] + "最后一句"
TEXT = "今日特价，新鲜草莓。"


class Service:
    """A service without a network, and its jobs."""

    def __init__(self, client: httpx.AsyncClient, engine: ToneEngine) -> None:
        self.client = client
        self.engine = engine

    async def create(self, text: str = TEXT, **more: object) -> str:
        values = {"input": text, "response_format": "pcm", **more}
        answer = await self.client.post("/v1/jobs", json=values)
        assert answer.status_code == 202, answer.text
        number: str = answer.json()["id"]
        return number

    async def until(self, number: str, *states: str) -> dict[str, object]:
        for _ in range(2000):
            told: dict[str, object] = (
                await self.client.get(f"/v1/jobs/{number}")
            ).json()
            if told["status"] in states:
                return told
            await asyncio.sleep(0.01)
        raise AssertionError(told)


async def reached(condition: Callable[[], bool]) -> None:
    for _ in range(2000):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came true")


@pytest.fixture
async def service(tmp_path: Path, engine: ToneEngine) -> AsyncIterator[Service]:
    async with serving(tmp_path, engine) as one:
        yield one


@asynccontextmanager
async def serving(
    data: Path, engine: ToneEngine, **limits: object
) -> AsyncIterator[Service]:
    settings = CloudSettings(
        data=data,
        jobs=JobSettings.model_validate(limits),
        queue=QueueSettings(ahead_s=100_000),
    )
    app = create_app(engine, settings)
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://cloud") as client,
    ):
        yield Service(client, engine)


async def test_a_text_is_spoken_and_fetched(service: Service) -> None:
    number = await service.create()
    told = await service.until(number, "done")
    assert (told["progress"], told["characters"]) == (1.0, len(TEXT))
    sound = await service.client.get(f"/v1/jobs/{number}/sound")
    assert sound.headers["content-type"] == "audio/pcm;rate=24000;channels=1"
    assert len(sound.content) == 8 * SYLLABLE * 2
    part = await service.client.get(
        f"/v1/jobs/{number}/sound", headers={"Range": "bytes=10-19"}
    )
    assert (part.status_code, part.content) == (206, sound.content[10:20])
    receipt = (await service.client.get(f"/v1/receipts/{number}")).json()
    assert receipt["spoken"] == TEXT


class Hurried(ToneEngine):
    """Speaks a thousand syllables at once."""

    async def synthesize(self, job: Job) -> AsyncGenerator[Chunk, None]:
        left = len(job.reading.surface)
        while left > 0:
            yield np.full(min(left, 1000) * SYLLABLE, 0.1, np.float32)
            left -= 1000


async def test_the_longest_text_is_spoken_to_its_last_clause(tmp_path: Path) -> None:
    async with serving(tmp_path, Hurried()) as service:
        number = await service.create(LONG)
        told = await service.until(number, "done", "failed")
        assert told["status"] == "done"
        receipt = (await service.client.get(f"/v1/receipts/{number}")).json()
        assert receipt["surface"][-4:] == ["zui4", "hou4", "yi2", "ju4"]
        assert told["duration_ms"] == len(receipt["surface"]) * SYLLABLE // 24


async def test_a_saved_wav_says_its_true_length(service: Service) -> None:
    number = await service.create(response_format="wav")
    await service.until(number, "done")
    sound = await service.client.get(f"/v1/jobs/{number}/sound")
    with wave.open(io.BytesIO(sound.content)) as file:
        assert file.getnframes() == 8 * SYLLABLE
        frames = file.readframes(file.getnframes())
    assert (
        frames[:SYLLABLE]
        == to_s16(
            (0.3 * np.sin(np.arange(SYLLABLE) * 2 * np.pi * 200 / 24_000)).astype("f4")
        )[:SYLLABLE]
    )
    assert int.from_bytes(sound.content[4:8], "little") == len(sound.content) - 8


async def test_the_same_words_again_come_from_memory(service: Service) -> None:
    for _ in range(2):
        told = await service.until(await service.create(), "done")
        assert told["duration_ms"] == 800
    assert service.engine.begun == 1


async def test_progress_grows_while_it_is_spoken(service: Service) -> None:
    engine = service.engine
    engine.gate.clear()
    number = await service.create("一二三四五六七八九十" * 10)
    told = await service.until(number, "running")
    assert told["progress"] == 0
    refused = await service.client.get(f"/v1/jobs/{number}/sound")
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    seen = [0.0]
    engine.gate.set()
    while (told := await service.until(number, "running", "done"))["status"] != "done":
        seen.append(float(str(told["progress"])))
        await asyncio.sleep(0)
    assert seen == sorted(seen)
    assert max(seen) < 1


@pytest.mark.parametrize(
    ("values", "status", "code"),
    [
        ({"input": "好" * 20_001}, 400, "input_too_long"),
        ({"input": " "}, 400, "nothing_to_say"),
        ({}, 400, "invalid_request"),
        ({"input": "好", "voice": "nobody"}, 404, "unknown_voice"),
        ({"input": "好", "dialect": "gd"}, 503, "voice_unavailable"),
        ({"input": "好", "model": "gpt-9"}, 404, "not_found"),
        ({"input": "好", "response_format": "aac"}, 400, "unsupported_format"),
    ],
    ids=str,
)
async def test_what_cannot_be_spoken_is_refused_at_once(
    service: Service, values: dict[str, str], status: int, code: str
) -> None:
    answer = await service.client.post("/v1/jobs", json=values)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("text", "code"), [("……", "nothing_to_say"), ("价\ue000", "unreadable_text")]
)
async def test_what_fails_later_says_why(
    service: Service, text: str, code: str
) -> None:
    number = await service.create(text)
    told = await service.until(number, "failed")
    assert isinstance(told["error"], dict)
    assert told["error"]["code"] == code
    answer = await service.client.get(f"/v1/jobs/{number}/sound")
    assert answer.json()["error"]["code"] == code


async def test_what_fails_for_a_passing_reason_is_begun_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "PAUSE_S", 0.01)
    engine = service.engine
    engine.failure, engine.fails_after = YaoheError("voice_unavailable", "gone"), 3
    number = await service.create()
    await reached(lambda: engine.begun >= 2)
    engine.failure = None
    told = await service.until(number, "done", "failed")
    assert (told["status"], told["duration_ms"]) == ("done", 800)


async def test_who_waits_for_sound_goes_before_every_job(
    tmp_path: Path, engine: ToneEngine
) -> None:
    engine.slots = 2
    engine.gate.clear()
    async with serving(tmp_path, engine, running=8) as service:
        numbers = [await service.create(f"{n}号") for n in range(4)]
        for number in numbers:
            await service.until(number, "running")
        await reached(lambda: engine.begun >= 1)
        asked = {"input": "请您稍等", "response_format": "pcm"}
        call = asyncio.create_task(service.client.post("/v1/audio/speech", json=asked))
        await reached(lambda: engine.begun >= 2)
        # Half of the slots are left to callers, however many jobs there are.
        assert engine.begun == 2
        engine.gate.set()
        assert (await call).status_code == 200
        for number in numbers:
            await service.until(number, "done")


async def test_one_job_too_many_is_refused_at_once(
    tmp_path: Path, engine: ToneEngine
) -> None:
    engine.gate.clear()
    async with serving(tmp_path, engine, capacity=2) as service:
        for text in ("一号", "二号"):
            await service.create(text)
        answer = await service.client.post("/v1/jobs", json={"input": "三号"})
        assert answer.status_code == 429
        assert answer.headers["retry-after"]
        engine.gate.set()


async def test_a_job_that_is_deleted_stops_and_leaves_nothing(
    tmp_path: Path, engine: ToneEngine
) -> None:
    engine.gate.clear()
    async with serving(tmp_path, engine) as service:
        running, done = await service.create("一号"), await service.create("二号")
        await service.until(running, "running")
        answer = await service.client.delete(f"/v1/jobs/{running}")
        assert answer.status_code == 204
        assert engine.ended == 1
        assert (await service.client.get(f"/v1/jobs/{running}")).status_code == 404
        engine.gate.set()
        await service.until(done, "done")
        assert len(files(tmp_path)) == 1
        await service.client.delete(f"/v1/jobs/{done}")
        assert files(tmp_path) == []


async def test_a_job_is_forgotten_after_its_time(
    tmp_path: Path, engine: ToneEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path, engine, keep_s=100) as service:
        number = await service.create()
        told = await service.until(number, "done")
        expires = float(str(told["expires_at"]))
        assert expires == pytest.approx(time.time() + 100, abs=30)
        later = expires + 1
        monkeypatch.setattr("cloud.jobs.runner.time.time", lambda: later)
        assert (await service.client.get(f"/v1/jobs/{number}")).status_code == 404
        assert files(tmp_path) == []


async def test_the_oldest_leave_when_files_take_too_much(
    tmp_path: Path, engine: ToneEngine
) -> None:
    async with serving(tmp_path, engine, max_bytes=25_000) as service:
        # Two syllables are 9,600 bytes.
        numbers = []
        for text in ("一号", "二号", "三号"):
            numbers.append(await service.create(text))
            await service.until(numbers[-1], "done")
        states = [
            (await service.client.get(f"/v1/jobs/{number}")).status_code
            for number in numbers
        ]
        assert states == [404, 200, 200]
        assert len(files(tmp_path)) == 2


async def test_a_sound_without_end_is_stopped(
    tmp_path: Path, engine: ToneEngine
) -> None:
    async with serving(tmp_path, engine, longest_s=0.5) as service:
        told = await service.until(await service.create(), "failed")
        assert isinstance(told["error"], dict)
        assert told["error"]["code"] == "input_too_long"
        assert files(tmp_path) == []


async def test_the_end_of_the_service_is_the_end_of_its_jobs(
    tmp_path: Path, engine: ToneEngine
) -> None:
    left = tmp_path / "jobs" / "999999999" / "old"
    left.parent.mkdir(parents=True)
    left.touch()
    async with serving(tmp_path, engine) as service:
        assert not left.exists()
        await service.until(await service.create("一号"), "done")
        engine.gate.clear()
        await service.create("二号")
        await reached(lambda: engine.begun >= 2)
    assert engine.ended == 2
    assert files(tmp_path) == []


async def test_a_job_that_never_was_is_not_found(service: Service) -> None:
    for path in ("", "/sound"):
        answer = await service.client.get(f"/v1/jobs/{'0' * 32}{path}")
        assert answer.json()["error"]["code"] == "not_found"


def files(data: Path) -> list[Path]:
    return [path for path in (data / "jobs").rglob("*") if path.is_file()]
