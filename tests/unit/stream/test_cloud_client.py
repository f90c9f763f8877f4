"""The box's client against a small cloud over real sockets."""

from __future__ import annotations

import asyncio
import http
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import numpy as np
import pytest
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from common.audio.pcm import Pcm
from common.errors import YaoheError
from common.protocol.synthesis import SpeechRequest, parse_speech
from common.sessions import Sessions
from common.speech import Speech, new_utterance
from common.streaming.conversation import Conversation
from edge.breaker import FAILURES
from edge.cloud_client import CloudClient
from tests.unit.stream.wire import Tones, tone

TEXT = "今日特价，新鲜草莓每斤9.9元。"
WAIT_S = 30.0


def asked(text: str = TEXT, **values: object) -> SpeechRequest:
    return parse_speech({"input": text, **values})


class SmallCloud:
    """Answers the probe and the stream; may be cut and come back."""

    def __init__(self, tones: Tones) -> None:
        self.tones = tones
        self.sessions = Sessions()
        self.open: set[ServerConnection] = set()
        self.cut_after: int | None = None
        self.cuts = 0
        self.is_ready = True
        self.port = 0
        self._server: Server | None = None

    async def start(self) -> None:
        self._server = await serve(
            self._serve, "127.0.0.1", self.port, process_request=self._http
        )
        self.port = next(iter(self._server.sockets)).getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for socket in list(self.open):
            socket.transport.abort()
        await self._server.wait_closed()

    async def _http(
        self, socket: ServerConnection, request: Request
    ) -> Response | None:
        if request.path == "/v1/stream":
            return None
        rows = [{"id": "man", "dialects": ["zh"]}, {"id": 7}]
        body = json.dumps({"data": rows}).encode()
        status = http.HTTPStatus.OK if self.is_ready else http.HTTPStatus(503)
        headers = Headers({"Content-Length": str(len(body)), "Connection": "close"})
        return Response(status, "", headers, body)

    async def _serve(self, socket: ServerConnection) -> None:
        self.open.add(socket)

        async def receive() -> Mapping[str, Any]:
            try:
                data = await socket.recv()
            except ConnectionClosed:
                return {"type": "websocket.disconnect"}
            name = "text" if isinstance(data, str) else "bytes"
            return {"type": "websocket.receive", name: data}

        async def send(message: dict[str, Any]) -> None:
            data = message.get("bytes") or message.get("text")
            if self.cut_after is not None and isinstance(data, bytes):
                self.cut_after -= 1
                if self.cut_after <= 0:
                    self.cut_after = None
                    self.cuts += 1
                    socket.transport.abort()
            try:
                await socket.send(data or "")
            except ConnectionClosed:
                raise ConnectionResetError from None

        talk = Conversation(
            self.sessions, self.tones, receive, send, takes_utterance=True
        )
        await talk.run()
        self.open.discard(socket)


@pytest.fixture
async def cloud(tones: Tones) -> AsyncIterator[SmallCloud]:
    small = SmallCloud(tones)
    await small.start()
    yield small
    await small.stop()
    small.sessions.close()


@pytest.fixture
async def client(cloud: SmallCloud) -> AsyncIterator[CloudClient]:
    one = CloudClient(f"http://127.0.0.1:{cloud.port}", probe_s=0.2)
    one.start()
    await until(lambda: one.is_up and bool(one.repertoire))
    yield one
    await one.stop()


async def until(is_so: Any) -> None:
    for _ in range(1500):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("never so")


async def listen(speech: Speech) -> Pcm:
    assert speech.chunks is not None
    return np.concatenate([chunk async for chunk in speech.chunks])


async def test_the_cloud_speaks_exactly_its_samples(client: CloudClient) -> None:
    utterance = new_utterance()
    speech = await client.speak(asked(voice="man"), utterance, WAIT_S)
    assert (await listen(speech)).size == tone(TEXT).size
    assert (speech.utterance, speech.tier) == (utterance, "cloud")
    assert speech.receipt.reading.spoken == "今日特价，新鲜草莓每斤九点九元。"
    assert speech.receipt.reading.spans[0].text
    assert speech.provenance.engine == "tones"
    assert client.repertoire == {"man": ("zh",)}


async def test_many_calls_share_the_socket_unmixed(
    client: CloudClient, cloud: SmallCloud
) -> None:
    texts = [f"请{n}号顾客取餐" for n in range(6)]
    speeches = await asyncio.gather(
        *(client.speak(asked(text), new_utterance(), WAIT_S) for text in texts)
    )
    for text, speech in zip(texts, speeches, strict=True):
        sound = await listen(speech)
        assert np.corrcoef(sound, tone(text))[0, 1] > 0.7
    assert len(cloud.open) == 1


async def test_a_cut_socket_is_resumed_where_it_was(
    client: CloudClient, cloud: SmallCloud
) -> None:
    cloud.tones.chunks = 120
    whole = await listen(await client.speak(asked(), new_utterance(), WAIT_S))
    cloud.cut_after = 40
    cut = await listen(await client.speak(asked(), new_utterance(), WAIT_S))
    assert cloud.cuts == 1
    assert cut.size == whole.size == tone(TEXT, 120).size
    assert cloud.tones.spoken == [TEXT, TEXT]


async def test_what_the_cloud_refuses_is_told_and_does_not_count_as_illness(
    client: CloudClient,
) -> None:
    for _ in range(2 * FAILURES):
        with pytest.raises(YaoheError) as refusal:
            await client.speak(asked(voice="nobody"), new_utterance(), WAIT_S)
        assert refusal.value.code == "unknown_voice"
    assert client.is_up


async def test_a_late_cloud_is_given_up_and_its_work_stops(
    client: CloudClient, cloud: SmallCloud
) -> None:
    client._probe_s = 1000
    cloud.tones.gate.clear()
    for number in range(FAILURES):
        assert client.is_up
        with pytest.raises(YaoheError) as refusal:
            await client.speak(asked(f"第{number}次"), new_utterance(), 0.2)
        assert refusal.value.code == "deadline_exceeded"
        client.breaker._clock = lambda: 0.0
    await until(lambda: cloud.tones.stopped == FAILURES)


async def test_a_cloud_that_is_gone_is_not_up_and_one_that_returns_is(
    client: CloudClient, cloud: SmallCloud
) -> None:
    await cloud.stop()
    await until(lambda: not client.is_up)
    await cloud.start()
    await until(lambda: client.is_up)
    speech = await client.speak(asked(), new_utterance(), WAIT_S)
    assert (await listen(speech)).size == tone(TEXT).size


async def test_the_probe_alone_finds_a_cloud_that_is_not_ready(
    client: CloudClient, cloud: SmallCloud
) -> None:
    cloud.is_ready = False
    await until(lambda: client.breaker.says == "open")
    assert not client.is_up
    cloud.is_ready = True
    await until(lambda: client.breaker.says == "closed")


@pytest.mark.parametrize("url", ["", "cloud:8700", "ftp://cloud", "http://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(YaoheError, match="the cloud's address"):
        CloudClient(url)
