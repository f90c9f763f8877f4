"""Blobs over HTTP from servers that misbehave in every public way."""

from __future__ import annotations

import hashlib
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
import pytest

from common.errors import YaoheError
from common.protocol.repair import CHUNK_BYTES
from edge.ota.download import Asking, Part
from edge.ota.web import fetch_range
from tests.unit.ota.airs import Box, Cloud

SIZE = 3 * CHUNK_BYTES + 100
CONTENT = random.Random(1).randbytes(SIZE)
NAME = hashlib.sha256(CONTENT).hexdigest()

Answer = Callable[[httpx.Request], httpx.Response]


async def fetched(answer: Answer, first: int = 0, last: int = 3) -> dict[int, bytes]:
    came: dict[int, bytes] = {}

    async def take(index: int, chunk: bytes) -> None:
        came[index] = chunk

    def streamed(request: httpx.Request) -> httpx.Response:
        whole = answer(request)

        async def parts() -> AsyncIterator[bytes]:
            for at in range(0, len(whole.content), 50_000):
                yield whole.content[at : at + 50_000]

        return httpx.Response(whole.status_code, headers=whole.headers, content=parts())

    transport = httpx.MockTransport(streamed)
    async with httpx.AsyncClient(transport=transport) as client:
        await fetch_range(client, "http://cloud", (NAME, SIZE), (first, last), take)
    return came


def wanted(first: int, last: int) -> dict[int, bytes]:
    cut = [CONTENT[i * CHUNK_BYTES :][:CHUNK_BYTES] for i in range(4)]
    return {i: cut[i] for i in range(first, last + 1)}


def honest(request: httpx.Request) -> httpx.Response:
    assert request.headers["If-Range"] == f'"{NAME}"'
    begin, end = map(int, request.headers["Range"].removeprefix("bytes=").split("-"))
    return httpx.Response(
        206,
        content=CONTENT[begin : end + 1],
        headers={"Content-Range": f"bytes {begin}-{end}/{SIZE}"},
    )


@pytest.mark.parametrize(("first", "last"), [(0, 3), (1, 2), (3, 3), (2, 9)])
async def test_range_is_cut_into_chunks(first: int, last: int) -> None:
    assert await fetched(honest, first, last) == wanted(first, min(last, 3))


async def test_200_begins_at_the_beginning_and_is_never_appended() -> None:
    came = await fetched(lambda _: httpx.Response(200, content=CONTENT), 2, 3)
    assert came == wanted(0, 3)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "bytes 0-10/20",
        f"bytes {CHUNK_BYTES + 1}-{SIZE - 1}/{SIZE}",
        f"bytes {CHUNK_BYTES}-{SIZE - 1}/{SIZE + 1}",
        "items 1-2/3",
    ],
)
async def test_range_that_was_not_asked_for_is_refused(said: str) -> None:
    with pytest.raises(YaoheError, match="the range"):
        await fetched(
            lambda _: httpx.Response(
                206, content=b"x", headers={"Content-Range": said}
            ),
            1,
        )


async def test_416_is_the_end_only_for_the_whole_length() -> None:
    def answer(length: int) -> Answer:
        headers = {"Content-Range": f"bytes */{length}"}
        return lambda _: httpx.Response(416, headers=headers)

    with pytest.raises(YaoheError, match="no such range"):
        await fetched(answer(SIZE), 1)
    with pytest.raises(YaoheError, match="no such range"):
        await fetched(answer(SIZE - 1), 1)


@pytest.mark.parametrize("status", [204, 301, 404, 429, 500, 503])
async def test_other_answers_bring_nothing(status: int) -> None:
    with pytest.raises(YaoheError, match="status") as caught:
        await fetched(lambda _: httpx.Response(status, content=CONTENT))
    assert caught.value.code == "not_ready"


async def test_more_bytes_than_there_are_is_refused() -> None:
    with pytest.raises(YaoheError, match="more bytes"):
        await fetched(lambda _: httpx.Response(200, content=CONTENT + b"x"))


async def test_encoded_bytes_are_refused() -> None:
    headers = {"Content-Encoding": "br"}
    with pytest.raises(YaoheError, match="encoded"):
        await fetched(lambda _: httpx.Response(200, headers=headers))


async def test_body_that_is_cut_keeps_the_chunks_that_came() -> None:
    def cut(request: httpx.Request) -> httpx.Response:
        whole = honest(request)
        said = {"Content-Range": whole.headers["Content-Range"]}
        return httpx.Response(
            206, content=whole.content[: CHUNK_BYTES + 7], headers=said
        )

    assert await fetched(cut) == wanted(0, 0)


async def test_cloud_that_is_away_is_not_ready() -> None:
    def away(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("away")

    with pytest.raises(YaoheError) as caught:
        await fetched(away)
    assert caught.value.code == "not_ready"


def test_part_takes_only_chunks_of_the_right_length(tmp_path: Path) -> None:
    part = Part(tmp_path / "x.part", NAME, SIZE, b"")
    assert (tmp_path / "x.part").stat().st_size == SIZE
    assert not part.write(0, b"short")
    assert not part.write(4, b"")
    assert not part.write(3, bytes(CHUNK_BYTES))
    for index, chunk in wanted(0, 3).items():
        assert part.write(index, chunk)
        assert not part.write(index, chunk)
    assert part.is_right()
    hints = part.sync()
    part.close()
    again = Part(tmp_path / "x.part", NAME, SIZE, hints)
    assert again.missing == set()
    again.close()


def test_part_hashes_again_what_its_hints_claim(tmp_path: Path) -> None:
    path = tmp_path / "x.part"
    part = Part(path, NAME, SIZE, b"")
    for index, chunk in wanted(0, 2).items():
        part.write(index, chunk)
    hints = part.sync()
    part.close()
    with path.open("r+b") as file:
        file.seek(CHUNK_BYTES + 5)
        file.write(b"rot")
    part = Part(path, NAME, SIZE, hints)
    assert part.missing == {1, 3}
    part.close()
    assert Part(path, NAME, SIZE, b"junk").missing == {0, 1, 2, 3}


def test_questions_wait_longer_each_time_and_anew_when_something_comes(
    tmp_path: Path,
) -> None:
    now = [0.0]
    asking = Asking(lambda: now[0])
    part = Part(tmp_path / "x.part", NAME, SIZE, b"")
    asked_at = []
    for tenth in range(1000):
        now[0] = tenth / 10
        if asking.next([part]):
            asked_at.append(now[0])
    assert asked_at == [0.0, 3.0, 9.0, 21.0, 45.0, 93.0]
    asking.came(NAME, 0)
    part.write(0, wanted(0, 0)[0])
    now[0] += 3.1
    (question,) = asking.next([part])
    assert question[1:] == (1, 3)
    part.close()


async def test_pack_comes_over_http_when_the_line_brings_nothing(
    tmp_path: Path, keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fastapi import FastAPI

    from cloud.fleet import routes
    from tests.webs import served

    cloud = Cloud(tmp_path, keys)
    app = FastAPI()
    app.state.office = cloud.office
    app.include_router(routes.router)
    with served(app) as address:
        box = Box(tmp_path / "box", cloud)
        box.options = {"cloud": address, "http_after_s": 0.1}
        box.start()
        cloud.publish(cloud.make())
        await box.desk.trust_changed(box.trusted())
        await box.desk.take_job("all", cloud.job())
        from tests.lines import until

        await until(lambda: box.names)
        await box.stop()
    assert list(box.names.values()) == ["hum@1.0.0"]
