"""What a box says of its line, its cloud and packs on the way."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, get_args

import pytest

from common.text import Lexicon
from edge import doctor, outside
from edge.ota.ledger import Update
from edge.ota.refusal import Reason
from edge.outside import Outside, Refusal
from edge.settings import EdgeSettings, HttpSettings
from edge.sync.settings import SyncSettings
from edge.sync.state import LineState, Why
from edge.sync.unmatched import Unmatched
from tests.unit.edge.conftest import MakeBox
from tests.unit.edge.tiny import TinyVoice

UP = LineState("shop-312", "tea", True, "", {"all": 3}, True, 0, None, False)


def seen(**facts: Any) -> Outside:
    alone: dict[str, Any] = {
        "line": None,
        "cloud": None,
        "is_connected": False,
        "breaker": "",
        "updates": [],
        "refusals": [],
        "unmatched": Unmatched(),
    }
    return Outside(**alone | facts)


def update(version: str, state: str, reason: str = "") -> Update:
    row = (f"{version:0>64}", 9, "man", version, "", state, 1, 0, reason, "")
    return Update(*row)  # type: ignore[arg-type]


def of(found: Outside, tmp_path: Path) -> dict[str, tuple[str, str]]:
    checks = found.checks(EdgeSettings(data=tmp_path))
    assert tuple(check.name for check in checks) == outside.NAMES
    return {check.name: (check.verdict, check.says) for check in checks}


def test_a_box_of_its_own_is_well(tmp_path: Path) -> None:
    assert {verdict for verdict, _ in of(seen(), tmp_path).values()} == {"ok"}


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({}, "ok", "all phrases are here"),
        ({"is_current": False, "waiting": 7}, "ok", "7 reports wait"),
        ({"is_up": False, "last_error": "refused"}, "warn", "not connected: refused"),
        (
            {"is_up": False, "last_error": "gone", "last_error_at": 1_800_000_000},
            "warn",
            "not connected since 2027-01-15 08:00:00 UTC: gone",
        ),
        (
            {"is_current": False, "lacking": 2, "lacking_why": "disk"},
            "ok",
            "2 phrases are not here",
        ),
        ({"refusal": "it expired"}, "warn", "not trusted: it expired"),
    ],
)
def test_the_line_is_told_in_words(
    tmp_path: Path, change: Mapping[str, Any], verdict: str, words: str
) -> None:
    line = LineState(**vars(UP) | dict(change))
    found = of(seen(line=line), tmp_path)["line"]
    assert found[0] == verdict
    assert words in found[1]
    assert "shop-312 of chain tea" in found[1]


@pytest.mark.parametrize("why", get_args(Why))
def test_lacking_phrases_are_told_with_the_reason(tmp_path: Path, why: Why) -> None:
    lack = {"is_current": not why, "lacking": 12 if why else 0, "lacking_why": why}
    line = LineState(**vars(UP) | lack)
    verdict, says = of(seen(line=line), tmp_path)["phrases"]
    assert verdict == ("warn" if why in outside.LACKS else "ok")
    assert ("12 phrases" in says) == bool(why)
    assert set(outside.LACKS) == set(get_args(Why)) - {"", "coming"}


def test_phrases_that_are_read_otherwise_are_told_with_the_lexicon(
    tmp_path: Path,
) -> None:
    unmatched = Unmatched(3, "重庆小面", "ab" * 32)
    (check,) = (
        one
        for one in seen(line=UP, unmatched=unmatched).checks(
            EdgeSettings(data=tmp_path)
        )
        if one.name == "phrases"
    )
    assert check.verdict == "warn"
    assert "3 phrases of the chain are read otherwise here" in check.says
    assert "重庆小面" in check.says
    assert "abababababab" in check.advice


@pytest.mark.parametrize(
    ("is_connected", "breaker", "verdict", "words"),
    [
        (True, "closed", "ok", "answers"),
        (False, "closed", "warn", "cannot be reached"),
        (True, "open", "warn", "left alone"),
        (True, "trying", "warn", "left alone"),
    ],
)
def test_the_cloud_is_told_in_words(
    tmp_path: Path, is_connected: bool, breaker: str, verdict: str, words: str
) -> None:
    cloud = seen(cloud="http://c:1", is_connected=is_connected, breaker=breaker)
    found = of(cloud, tmp_path)["cloud"]
    assert found[0] == verdict
    assert words in found[1]


def test_every_reason_of_a_refusal_has_plain_words(tmp_path: Path) -> None:
    assert set(outside.PLAIN) == set(get_args(Reason))
    refused = seen(
        refusals=[Refusal("man@2", "damaged", "x"), Refusal("hum@1", "", "it is gone")],
        updates=[update("3", "receiving")],
    )
    verdict, says = of(refused, tmp_path)["updates"]
    assert verdict == "warn"
    assert "man@2 is refused: its bytes are not those that were signed." in says
    assert "hum@1 is refused: it is gone." in says
    assert "man@3 is on its way (receiving)." in says


def test_a_refusal_is_over_when_a_later_pack_speaks() -> None:
    bad = update("1.0.1", "rolled_back", "damaged")
    good = update("1.0.2", "committed")
    assert outside.unhappy([bad]) == [bad]
    assert outside.unhappy([good, bad]) == [bad]
    assert outside.unhappy([bad, good]) == []
    assert outside.unhappy([update("1", "rolled_back", "removed")]) == []


async def test_a_running_box_tells_all_of_it(
    make_box: MakeBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = await make_box(TinyVoice())

    class Line:
        def state(self) -> LineState:
            return UP

        def unmatched(self, beneath: Lexicon) -> Unmatched:
            return Unmatched(1, "重庆", "")

    monkeypatch.setattr(box, "line", Line())
    told = Outside.of(box).as_dict()
    assert told["unmatched"] == {"phrases": 1, "text": "重庆", "lexicon": ""}
    assert json.loads(json.dumps(told))["line"]["box"] == "shop-312"
    assert (told["cloud"], told["updates"], told["refusals"]) == (None, [], [])


class Answer(BaseHTTPRequestHandler):
    """A box that answers one thing."""

    content = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def answering() -> Iterator[HTTPServer]:
    server = HTTPServer(("127.0.0.1", 0), Answer)
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def settings_for(server: HTTPServer, data: Path) -> EdgeSettings:
    return EdgeSettings(data=data, http=HttpSettings(port=server.server_port))


def test_the_doctor_asks_the_running_box(
    tmp_path: Path, answering: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_for(answering, tmp_path)
    told = seen(line=UP, refusals=[Refusal("man@2", "damaged", "x")]).checks(settings)
    body = {"checks": [check.as_dict() for check in told]}
    monkeypatch.setattr(Answer, "content", json.dumps(body).encode())
    assert outside.ask(settings) == told
    assert [check for check in doctor.examine(settings) if check in told] == told


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"no json", b"[]", b"{}", b'{"checks": 7}', b'{"checks": [7]}'),
        *(b'{"checks": [{"name": "line"}]}', b"\xff"),
        b'{"checks": [{"name": "line", "verdict": [], "says": "", "advice": ""}]}',
    ],
)
def test_a_stranger_on_the_port_is_no_box(
    tmp_path: Path,
    answering: HTTPServer,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
) -> None:
    monkeypatch.setattr(Answer, "content", content)
    found = outside.ask(settings_for(answering, tmp_path))
    assert [check.says for check in found] == [
        "Not enrolled in a chain: this box speaks alone."
    ]


def test_a_damaged_membership_is_told(tmp_path: Path) -> None:
    from edge.sync import membership

    folder = tmp_path / membership._FOLDER
    folder.mkdir(parents=True)
    (folder / "membership.json").write_bytes(b"half")
    told = EdgeSettings(data=tmp_path, sync=SyncSettings(enabled=False))
    found = outside.membership(told)
    assert found.verdict == "warn"
    assert "cannot be used" in found.says


def test_a_data_folder_that_gives_nothing_is_told(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    found = outside.membership(EdgeSettings(data=loop))
    assert found.verdict == "warn"
    assert "cannot be read" in found.says
