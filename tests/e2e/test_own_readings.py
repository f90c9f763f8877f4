"""A shop decides its readings over the network: lexicon, hints, markup, in place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from tests.e2e.boxes import Box, running_box
from tests.e2e.clouds import Cloud, running_cloud

SPEECH = "/v1/audio/speech"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("own") / "own.tsv"


@pytest.fixture(scope="module", params=["box", "cloud"])
def client(
    request: pytest.FixtureRequest, own: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    data = tmp_path_factory.mktemp("tier")
    running: AbstractContextManager[Box | Cloud] = (
        running_box(data, LEXICON=str(own))
        if request.param == "box"
        else running_cloud(data, LEXICON=str(own))
    )
    with running as tier, tier.client() as client:
        yield client


def spoken(client: httpx.Client, text: str, **values: object) -> str:
    """What was said for a text, from the receipt of the utterance."""
    asked = {"input": text, "response_format": "opus", **values}
    answer = client.post(SPEECH, json=asked)
    assert answer.status_code == 200, answer.text
    utterance = answer.headers["X-Yaohe-Utterance"]
    return str(client.get(f"/v1/receipts/{utterance}").json()["spoken"])


def test_a_lexicon_is_heeded_at_once_when_it_is_edited(
    client: httpx.Client, own: Path
) -> None:
    own.unlink(missing_ok=True)
    before = spoken(client, "爱丽6.18见")
    own.write_text("6.18\t=六月十八日\n", "utf-8")
    assert spoken(client, "爱丽6.18见") == "爱丽六月十八日见" != before
    own.write_text("6.18\t=六一八大促\n爱丽\t=艾莉\n", "utf-8")
    assert spoken(client, "爱丽6.18见") == "艾莉六一八大促见"
    own.write_text("坏了\n", "utf-8")
    assert spoken(client, "爱丽6.18见") == "艾莉六一八大促见"
    own.unlink()
    assert spoken(client, "爱丽6.18见") == before


def test_a_hint_settles_what_is_ambiguous(client: httpx.Client) -> None:
    assert spoken(client, "10.9", context="date") == "十月九日"
    assert spoken(client, "10.9", context="price") != "十月九日"
    answer = client.post(SPEECH, json={"input": "10.9", "context": "prise"})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "context"


def test_markup_is_heeded_where_it_is_announced(client: httpx.Client) -> None:
    text = "<speak><say-as interpret-as='digits'>12</say-as>号</speak>"
    assert spoken(client, text, ssml=True) == "一二号"
    assert spoken(client, text) != "一二号"


def test_a_device_that_only_knows_addresses_has_the_same_power(
    client: httpx.Client,
) -> None:
    asked = {"input": "10.9，{行|hang2}", "context": "date", "response_format": "pcm"}
    answer = client.get(SPEECH, params=asked)
    utterance = answer.headers["X-Yaohe-Utterance"]
    receipt = client.get(f"/v1/receipts/{utterance}").json()
    assert receipt["spoken"].startswith("十月九日")
    assert receipt["surface"][-1] == "hang2"


def test_the_page_of_readings_shows_each_rule(own: Path, tmp_path: Path) -> None:
    own.write_text("6.18\t=六月十八日\n", "utf-8")
    with running_box(tmp_path, LEXICON=str(own)) as box, box.client() as client:
        assert "SSML" in client.get("/reading").text
        asked = {"text": "6.18买<sub alias='甲'>乙</sub>10.9", "ssml": "true"}
        reading = client.get("/v1/reading", params={**asked, "context": "date"}).json()
        assert reading["spoken"] == "六月十八日买甲十月九日"
        rules = [span["rule"] for span in reading["spans"]]
        assert {"lexicon.text", "ssml.sub"} <= set(rules)
        refused = client.get("/v1/reading", params={**asked, "context": "prise"})
        assert refused.status_code == 400
    own.unlink()
