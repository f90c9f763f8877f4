"""The application at the border where clients come and go."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest

from cloud.api.app import create_app
from cloud.settings import CloudSettings
from common.errors import YaoheError
from tests.unit.cloud.conftest import ToneEngine


class Call:
    """One call by hand, so that the client can leave at any moment."""

    def __init__(self, engine: ToneEngine, text: str = "今日特价", **more: Any) -> None:
        self.app = create_app(engine, CloudSettings())
        self.body = json.dumps({"input": text, "response_format": "pcm", **more})
        self.sent: list[MutableMapping[str, Any]] = []
        self.is_gone = asyncio.Event()
        self._is_asked = False

    async def receive(self) -> dict[str, Any]:
        if not self._is_asked:
            self._is_asked = True
            return {"type": "http.request", "body": self.body.encode()}
        await self.is_gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.sent.append(message)
        if len(self.sent) > 2:
            # A client that takes nothing more.
            await asyncio.sleep(3600)

    async def run(self) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/v1/audio/speech",
            "raw_path": b"/v1/audio/speech",
            "query_string": b"",
            "root_path": "",
            "headers": [],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        await self.app(scope, self.receive, self.send)


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(500):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never came true")


async def test_a_client_that_leaves_before_any_sound_stops_the_work(
    engine: ToneEngine,
) -> None:
    engine.gate.clear()
    call = Call(engine)
    running = asyncio.create_task(call.run())
    await until(lambda: engine.begun == 1)
    call.is_gone.set()
    await asyncio.wait_for(running, 10)
    assert engine.ended == 1


async def test_a_client_that_leaves_in_mid_sentence_stops_the_work(
    engine: ToneEngine,
) -> None:
    call = Call(engine, "今日特价，新鲜草莓，买一送一。")
    engine.gate.clear()
    running = asyncio.create_task(call.run())
    await until(lambda: engine.begun == 1)
    engine.gate.set()
    await until(lambda: engine.made >= 2)
    engine.gate.clear()
    call.is_gone.set()
    await asyncio.wait_for(running, 10)
    assert engine.ended == 1


async def test_a_failure_that_nobody_foresaw_is_told_without_its_inside(
    engine: ToneEngine,
) -> None:
    engine.failure = ZeroDivisionError("secret inside")
    call = Call(engine)
    # The framework raises it again, for the server's log.
    with pytest.raises(ZeroDivisionError):
        await call.run()
    assert call.sent[0]["status"] == 500
    error = json.loads(call.sent[1]["body"])["error"]
    assert error["code"] == "internal_error"
    assert "secret" not in error["message"]


async def test_an_engine_that_cannot_be_loaded_ends_the_service(
    engine: ToneEngine,
) -> None:
    given_up = asyncio.Event()

    async def start() -> None:
        raise YaoheError("pack_invalid", "broken")

    engine.start = start  # type: ignore[method-assign]
    engine.is_ready = False
    app = create_app(engine, CloudSettings(), given_up.set)
    async with app.router.lifespan_context(app):
        await asyncio.wait_for(given_up.wait(), 10)
    assert app.state.failure.message == "broken"
