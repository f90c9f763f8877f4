"""The player page in a real browser: what reaches its audio graph, and what it says."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.e2e.boxes import Box, running_box
from tests.e2e.browser import Page, page, program

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="needs Chromium"),
]

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"
LONG = "，".join(f"第{n}号顾客请到{n % 9 + 1}号窗口取餐" for n in range(1, 13)) + "。"
ALLOWED = "--autoplay-policy=no-user-gesture-required"
SHOP = "shop.example"
MAPPED = f"--host-resolver-rules=MAP {SHOP} 127.0.0.1"
BLOCK = 4096

TAP = f"""
window.heard = [];
window.yaohe.tap = speaker => {{
  const node = speaker.context.createScriptProcessor({BLOCK}, 1, 1);
  node.onaudioprocess = event =>
    window.heard.push(event.inputBuffer.getChannelData(0).slice());
  speaker.out.connect(node);
  node.connect(speaker.context.destination);
}};
"""
LOUDEST = """
(() => {
  const power = block => block.reduce((sum, x) => sum + x * x, 0);
  const best = window.heard.reduce((a, b) => power(a) >= power(b) ? a : b);
  return btoa(String.fromCharCode(...new Uint8Array(best.buffer)));
})()
"""


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    with running_box(tmp_path_factory.mktemp("box")) as one:
        yield one


def spoken(box: Box, text: str) -> NDArray[np.float32]:
    with box.client() as client:
        answer = client.post(
            "/v1/audio/speech", json={"input": text, "response_format": "pcm"}
        )
    assert answer.status_code == httpx.codes.OK
    return np.frombuffer(answer.content, "<i2").astype(np.float32) / np.float32(32768)


async def loudest(browser: Page) -> NDArray[np.float32]:
    """The loudest block that the audio graph was given, once all has been played."""
    await browser.until("yaohe.speaker.context.currentTime > yaohe.speaker.until + 0.3")
    return np.frombuffer(base64.b64decode(await browser.js(LOUDEST)), "<f4")


def likeness(block: NDArray[np.float32], sound: NDArray[np.float32]) -> float:
    """How well a block is found in a sound, 0 to 1."""
    padded = np.pad(sound, block.size).astype(np.float64)
    size = 1 << int(padded.size + block.size).bit_length()
    product = np.fft.rfft(padded, size) * np.conj(np.fft.rfft(block, size))
    matches = np.fft.irfft(product, size)[: padded.size - block.size]
    sums = np.cumsum(np.concatenate(([0.0], padded**2)))
    energy = (sums[block.size :] - sums[: -block.size])[: matches.size]
    norm = np.sqrt(
        np.maximum(energy, 1e-9) * float(np.sum(block.astype(np.float64) ** 2))
    )
    return float(np.max(np.abs(matches) / np.maximum(norm, 1e-9)))


@pytest.mark.parametrize(
    ("codec", "host", "least"), [("opus", "127.0.0.1", 0.8), ("pcm", SHOP, 0.99)]
)
async def test_what_is_said_reaches_the_audio_graph(
    box: Box, root: Path, codec: str, host: str, least: float
) -> None:
    sound = spoken(box, TEXT)
    async with page(ALLOWED, MAPPED) as browser:
        await browser.open(box.address.replace("127.0.0.1", host) + "/player")
        assert await browser.js("isSecureContext") is (codec == "opus")
        await browser.until("document.querySelector('#line').dataset.state === 'on'")
        await browser.js(TAP)
        await browser.click("#go")
        end = await browser.until("yaohe.state.ends[0]")
        assert await browser.js("yaohe.state.codec") == codec
        assert end["samples"] == sound.size
        await browser.until(f"yaohe.speaker.scheduled === {sound.size}")
        block = await loudest(browser)
        assert np.abs(block).max() > 0.01
        assert likeness(block, sound) > least
        shown = await browser.js("document.body.innerText")
        assert TEXT in shown
        assert end["tiers"][0] in shown
        assert await browser.js("document.querySelector('#unlock').hidden") is True
        await browser.screenshot(root / "build" / f"player-{codec}.png")


async def test_a_socket_that_breaks_is_not_heard(box: Box) -> None:
    sound = spoken(box, LONG)
    async with page(ALLOWED, MAPPED) as browser:
        await browser.open(box.address.replace("127.0.0.1", SHOP) + "/player")
        await browser.until("document.querySelector('#line').dataset.state === 'on'")
        await browser.js(
            "window.cuts = 0; yaohe.tap = speaker => {"
            " const play = speaker.play.bind(speaker);"
            " speaker.play = samples => { play(samples);"
            "   if (speaker.scheduled > 24000 * (2 + 4 * cuts) && cuts < 3)"
            "     { cuts += 1; yaohe.cut(); } } }"
        )
        await browser.js(f"yaohe.say('{LONG}')")
        end = await browser.until("yaohe.state.ends[0]")
        assert await browser.js("window.cuts") >= 2
        assert end["samples"] == sound.size
        assert await browser.js("yaohe.speaker.scheduled") == sound.size


async def test_a_page_that_may_not_sound_says_so_with_a_button(
    box: Box, root: Path
) -> None:
    async with page("--autoplay-policy=document-user-activation-required") as browser:
        await browser.open(box.address + "/player")
        await browser.until("document.querySelector('#line').dataset.state === 'on'")
        await browser.js(f"yaohe.say('{TEXT}')")
        await browser.until("!document.querySelector('#unlock').hidden")
        await browser.screenshot(root / "build" / "player-blocked.png")
        assert "blocks sound" in await browser.js("document.body.innerText")
        await browser.click("#unlock")
        await browser.until("document.querySelector('#unlock').hidden")
        assert await browser.js("yaohe.speaker.context.state") == "running"


async def test_what_cannot_be_spoken_is_said_in_words(box: Box) -> None:
    async with page(ALLOWED) as browser:
        await browser.open(box.address + "/player")
        await browser.until("document.querySelector('#line').dataset.state === 'on'")
        await browser.js("yaohe.say('。。。')")
        told = await browser.until("document.querySelector('#error').textContent")
        assert "nothing to say" in told


async def test_a_guarded_box_plays_for_a_page_that_shows_its_token(
    tmp_path: Path,
) -> None:
    with running_box(tmp_path, HTTP__TOKEN="of-the-shop") as guarded:
        async with page(ALLOWED) as browser:
            await browser.open(guarded.address + "/player")
            told = await browser.until("document.querySelector('#error').textContent")
            assert "/player?token=" in told
        async with page(ALLOWED) as browser:
            await browser.open(guarded.address + "/player?token=of-the-shop")
            await browser.until(
                "document.querySelector('#line').dataset.state === 'on'"
            )
            await browser.js("yaohe.say('你好')")
            assert (await browser.until("yaohe.state.ends[0]"))["samples"] > 0
