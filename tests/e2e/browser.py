"""A real Chromium without a window, driven over its DevTools protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
WAIT_S = 120
OPTIONS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--disable-quic", "--disable-dev-shm-usage"),
    *("--remote-debugging-port=0", "--window-size=900,720", "--mute-audio"),
)


def program() -> str | None:
    """Where a Chromium is, if there is one."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Page:
    """One page of the browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self._session: str | None = None

    async def open(self, url: str) -> None:
        """Go there and wait until the page has loaded."""
        made = await self.command("Target.createTarget", url="about:blank")
        attached = await self.command(
            "Target.attachToTarget", targetId=made["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        await self.command("Page.navigate", url=url)
        await self.until("document.readyState === 'complete' && 'yaohe' in window")

    async def command(self, method: str, **params: Any) -> Any:
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        await self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(await asyncio.wait_for(self._socket.recv(), WAIT_S))
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    async def js(self, expression: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        done = await self.command(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    async def until(self, expression: str) -> Any:
        """Wait until an expression is true."""
        for _ in range(WAIT_S * 10):
            with contextlib.suppress(AssertionError):
                if value := await self.js(expression):
                    return value
            await asyncio.sleep(0.1)
        shown = await self.js("document.body.innerText")
        raise AssertionError(f"never true: {expression}\n{shown}")

    async def click(self, selector: str) -> None:
        """Press something, as a person does."""
        box = await self.js(
            f"(() => {{ const r = document.querySelector('{selector}')"
            ".getBoundingClientRect();"
            " return [r.x + r.width / 2, r.y + r.height / 2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.command(
                "Input.dispatchMouseEvent",
                type=kind,
                x=box[0],
                y=box[1],
                button="left",
                clickCount=1,
            )

    async def screenshot(self, path: Path) -> None:
        """Keep what a person would see."""
        shot = await self.command("Page.captureScreenshot", format="png")
        await asyncio.to_thread(_write, path, base64.b64decode(shot["data"]))


@contextlib.asynccontextmanager
async def page(*options: str) -> AsyncIterator[Page]:
    """Run a browser with one page while the block runs."""
    chromium = program()
    assert chromium is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.to_thread(
            _start, [chromium, *OPTIONS, f"--user-data-dir={profile}", *options]
        )
        try:
            assert process.stderr is not None
            address = await asyncio.to_thread(_address, process)
            async with connect(address, max_size=None, proxy=None) as socket:
                yield Page(socket)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.stderr is not None:
                process.stderr.close()


def _start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    for line in process.stderr:
        if "DevTools listening on" in line:
            return line.split()[-1]
    raise AssertionError("the browser ended at once")
