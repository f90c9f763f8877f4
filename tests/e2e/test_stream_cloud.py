"""A real box and a real cloud, and the sockets between them."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect

from common.protocol.frames import Frame, unpack
from tests.e2e.boxes import Box, metric, running_box
from tests.e2e.clouds import Cloud, running_cloud

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
LONG = "，".join(f"第{n}号顾客请到{n % 9 + 1}号窗口取餐" for n in range(1, 25)) + "。"
WAIT_S = 60


class Proxy:
    """Stands between box and cloud and cuts their sockets when told to."""

    def __init__(self, address: str) -> None:
        self._port = int(address.rsplit(":", 1)[1])
        self._open: set[asyncio.StreamWriter] = set()
        self.cut_after: int | None = None
        self.cuts = 0
        self.on_cut: Callable[[], object] = lambda: None
        self.address = ""

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _accept(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, back}
        try:
            await asyncio.gather(
                self._pump(reader, back, None), self._pump(there, writer, writer)
            )
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            for one in (writer, back):
                one.transport.abort()
                self._open.discard(one)

    async def _pump(
        self,
        source: asyncio.StreamReader,
        target: asyncio.StreamWriter,
        cuttable: asyncio.StreamWriter | None,
    ) -> None:
        while data := await source.read(1024):
            if cuttable is not None and self.cut_after is not None:
                self.cut_after -= len(data)
                if self.cut_after <= 0:
                    self.cut_after = None
                    self.cuts += 1
                    self.on_cut()
                    target.write(data[: len(data) // 2])
                    raise ConnectionResetError
            target.write(data)
            await target.drain()
        raise ConnectionResetError


async def stream(
    address: str, **start: object
) -> tuple[list[dict[str, Any]], list[Frame]]:
    """Speak over a socket and hear everything."""
    url = address.replace("http", "ws", 1) + "/v1/stream"
    events: list[dict[str, Any]] = []
    frames: list[Frame] = []
    async with connect(url, max_size=None, proxy=None) as socket:
        await socket.send(json.dumps({"type": "start", "codec": "pcm", **start}))
        async for data in socket:
            if isinstance(data, bytes):
                frames.append(unpack(data))
                if len(frames) % 10 == 0:
                    ack = {"type": "ack", "seq": len(frames)}
                    await socket.send(json.dumps(ack))
            else:
                events.append(json.loads(data))
                if events[-1]["type"] in ("end", "error"):
                    break
    return events, frames


def sound(frames: list[Frame]) -> bytes:
    return b"".join(frame.payload for frame in frames)


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with running_cloud(tmp_path_factory.mktemp("cloud"), "--engine", "packed") as one:
        yield one


@contextlib.asynccontextmanager
async def asking(tmp_path: Path, cloud: str, **settings: str) -> AsyncIterator[Box]:
    """A box that asks a cloud first, and knows what it can."""
    told = {"POLICY__MODE": "cloud", "POLICY__DEADLINE_MS": "20000", **settings}
    with running_box(tmp_path / "box", CLOUD__URL=cloud, **told) as box:
        yield box


async def test_cloud_and_box_stream_alike(tmp_path: Path, cloud: Cloud) -> None:
    with running_box(tmp_path / "box") as box:
        ours, theirs = await stream(box.address, input=TEXT), await stream(
            cloud.address, input=TEXT
        )
    assert sound(ours[1]) == sound(theirs[1])
    assert (ours[0][-1]["tiers"], theirs[0][-1]["tiers"]) == (["edge"], ["cloud"])
    assert ours[0][-1]["samples"] == len(sound(ours[1])) // 2


async def test_a_box_lets_the_cloud_speak_and_says_so(
    tmp_path: Path, cloud: Cloud
) -> None:
    async with asking(tmp_path, cloud.address) as box:
        await _when_up(box)
        events, frames = await stream(box.address, input=TEXT)
    told = next(event for event in events if event["type"] == "receipt")
    assert told["tier"] == "cloud"
    with cloud.client() as client:
        # One id runs through both.
        receipt = client.get(f"/v1/receipts/{told['utterance']}").json()
    assert receipt["text"] == TEXT
    whole = (await stream(cloud.address, input=TEXT))[1]
    assert len(sound(frames)) == len(sound(whole))


async def test_what_the_cloud_streamed_is_the_boxs_own_after_a_restart(
    tmp_path: Path, cloud: Cloud
) -> None:
    async with asking(tmp_path, cloud.address) as box:
        await _when_up(box)
        events, frames = await stream(box.address, input=TEXT)
        assert events[-1]["tiers"] == ["cloud"]
        assert (await _until_cached(box))["tier"] == "cache"
    async with asking(tmp_path, "http://127.0.0.1:9") as box:
        events, again = await stream(box.address, input=TEXT)
    told = next(event for event in events if event["type"] == "receipt")
    assert (told["tier"], told["enforced"]) == ("cache", True)
    assert json.loads(told["provenance"]["YAOHE"])["engine"] == "packed"
    assert len(sound(again)) == len(sound(frames))


async def test_a_cut_socket_to_the_cloud_is_not_heard(
    tmp_path: Path, cloud: Cloud
) -> None:
    whole = sound((await stream(cloud.address, input=LONG))[1])
    async with Proxy(cloud.address) as proxy, asking(tmp_path, proxy.address) as box:
        await _when_up(box)
        proxy.cut_after = 150_000
        events, frames = await stream(box.address, input=LONG)
    assert proxy.cuts == 1
    assert events[-1]["tiers"] == ["cloud"]
    assert len(sound(frames)) == len(whole)


async def test_a_cloud_killed_in_mid_sentence_is_finished_by_the_box(
    tmp_path: Path,
) -> None:
    with running_cloud(tmp_path / "cloud", "--engine", "packed") as cloud:
        whole = sound((await stream(cloud.address, input=LONG))[1])
        async with (
            Proxy(cloud.address) as proxy,
            asking(tmp_path, proxy.address) as box,
        ):
            await _when_up(box)
            proxy.cut_after = 150_000
            proxy.on_cut = cloud.process.kill
            events, frames = await stream(box.address, input=LONG)
            assert proxy.cuts == 1
            end = events[-1]
            assert (end["type"], end["tiers"]) == ("end", ["cloud", "edge"])
            (note,) = end["notes"]
            assert "the cloud stopped after" in note
            assert "on: woman" in note
            # Nothing is missing and nothing is said twice: only the way that a voice
            # begins a sentence may differ where the box went on.
            assert abs(len(sound(frames)) - len(whole)) < 2 * 24_000 * 2
            with box.client() as client:
                name = 'yaohe_edge_takeovers_total{tier="edge"}'
                assert metric(client, name) == 1
                assert metric(client, "yaohe_edge_streams_opened_total") >= 1
            # And without any cloud it still speaks.
            events, _ = await stream(box.address, input=TEXT)
            assert events[-1]["tiers"] in (["edge"], ["last-resort"])


async def _until_cached(box: Box) -> dict[str, Any]:
    """Ask until the box has written down what the cloud said."""
    for _ in range(WAIT_S * 5):
        events, _ = await stream(box.address, input=TEXT)
        told = next(event for event in events if event["type"] == "receipt")
        if told["tier"] != "cloud":
            return told
        await asyncio.sleep(0.2)
    raise AssertionError(told)


async def _when_up(box: Box) -> None:
    """Wait until the box has found its cloud; each text is new, so none is cached."""
    for number in range(WAIT_S * 5):
        events, _ = await stream(box.address, input=f"第{number}次")
        if events[-1].get("tiers") == ["cloud"]:
            return
        await asyncio.sleep(0.2)
    raise AssertionError(events)
