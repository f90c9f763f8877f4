"""The operators' page in a real browser, before a real cloud with a fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cloud.fleet.office import Office
from cloud.fleet.settings import FleetSettings
from common.protocol.reports import Birth, State
from distill import signing
from tests.e2e.browser import page, program
from tests.e2e.clouds import Cloud, running_cloud

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="needs Chromium"),
]

TEXT = "欢迎光临，今日特价<img src=x onerror='window.bad=1'>草莓9.9元。"
ALLOWED = "--autoplay-policy=no-user-gesture-required"
TOKEN = "a-token-of-operators"


def furnish(data: Path, keys: Path) -> None:
    """A founded chain with one box that has spoken up."""
    office = Office(data, FleetSettings())
    office.repository.found(keys)
    with office.db.change() as db:
        db.execute(
            "INSERT INTO boxes (box, groups, enrolled, certificate_expires) "
            "VALUES ('shop-312', '[\"north\"]', 1, 2)"
        )
        birth = Birth(up=True, boot="ab", session=1, software="0.1.0", machine="arm64")
        office.boxes.take_birth(db, "shop-312", birth)
        state = State(boot="ab", at=9, packs=["starter@1.0.0"], phrases=1)
        office.boxes.take_state(db, "shop-312", state)
        db.execute("INSERT INTO tiers VALUES ('shop-312', 'cache', 41)")
    office.db.close()


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    folder = tmp_path_factory.mktemp("fleet")
    signing.keygen(folder / "keys")
    furnish(folder / "cloud", folder / "keys")
    told = {"FLEET__ENABLED": "true", "FLEET__OPERATOR_TOKEN": TOKEN}
    with running_cloud(folder / "cloud", **told) as one:
        yield one


async def test_an_operator_pushes_a_phrase_and_hears_it(
    cloud: Cloud, root: Path
) -> None:
    async with page(ALLOWED, "--lang=zh-CN", "--accept-lang=zh-CN") as browser:
        await browser.open(cloud.address + "/operators")
        await browser.until("!document.querySelector('#enter').hidden")
        assert "shop-312" not in await browser.js("document.body.innerText")
        await browser.js(f"document.querySelector('#token').value = '{TOKEN}'")
        await browser.click("#enter button")
        await browser.until("document.body.innerText.includes('shop-312')")
        await browser.until("document.querySelector('#voice').length > 0")
        await browser.js(f"document.querySelector('#text').value = {json.dumps(TEXT)}")
        await browser.click("#send")
        await browser.until("!!document.querySelector('#phrases .done')")
        shown = await browser.js("document.querySelector('#phrases').innerText")
        assert TEXT in shown
        assert "0 / 1" in shown
        assert await browser.js("window.bad") is None
        await browser.click("#phrases .does button")
        assert await browser.until("document.querySelector('#player').duration > 0.5")
        heard = await browser.js("document.querySelector('#player').duration")
        await browser.click("#hear")
        await browser.until(
            "document.querySelector('#player').duration > 0.5 && "
            f"document.querySelector('#player').duration !== {heard}"
        )
        await browser.until("document.querySelector('#error').textContent === ''")
        await browser.screenshot(root / "build" / "operators.png")
        await browser.click("#language")
        assert "Push to all boxes" in await browser.js("document.body.innerText")
