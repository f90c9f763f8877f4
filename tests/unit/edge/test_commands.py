from __future__ import annotations

import json
import wave
from pathlib import Path

import pytest
from typer.testing import CliRunner

from common.audio.containers import read_provenance
from common.voice.pack import starter_directory
from edge.cli import app

TEXT = "今日特价，新鲜草莓每斤9.9元，买一送一。"

run = CliRunner()


@pytest.fixture(autouse=True)
def _data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YAOHE_EDGE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("YAOHE_EDGE_CACHE__MIN_FREE_BYTES", "0")


def say(*arguments: str) -> tuple[int, str, str]:
    result = run.invoke(app, ["say", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_say_writes_a_file_that_plays_and_says_where_it_comes_from(
    tmp_path: Path,
) -> None:
    out = tmp_path / "a.wav"
    code, printed, told = say(TEXT, "--out", str(out))
    assert (code, printed) == (0, "")
    assert "tier edge" in told
    with wave.open(str(out)) as file:
        assert (file.getframerate(), file.getnchannels()) == (24_000, 1)
        assert file.getnframes() > 0
        assert file.getnframes() * 2 == len(file.readframes(file.getnframes()))


def test_say_again_comes_from_the_cache(tmp_path: Path) -> None:
    say(TEXT, "--out", str(tmp_path / "a.wav"))
    code, _, told = say(TEXT, "--out", str(tmp_path / "b.opus"))
    assert code == 0
    assert "tier cache" in told
    provenance = read_provenance((tmp_path / "b.opus").read_bytes())
    assert provenance is not None
    assert provenance.engine == "packed"


@pytest.mark.parametrize("ending", ["mp3", "flac", "opus", "ogg", "pcm", "WAV"])
def test_the_ending_names_the_format(tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"a.{ending}"
    assert say("你好", "--out", str(out))[0] == 0
    begins = {"flac": b"fLaC", "opus": b"OggS", "ogg": b"OggS", "WAV": b"RIFF"}
    assert out.read_bytes().startswith(begins.get(ending, b""))


def test_the_receipt_goes_to_standard_output_as_json(tmp_path: Path) -> None:
    _, printed, _ = say("9.9元", "--out", str(tmp_path / "a.wav"), "--receipt")
    receipt = json.loads(printed)
    assert receipt["spoken"] == "九点九元"
    assert receipt["enforced"] is True


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([""], "nothing_to_say"),
        (["   "], "nothing_to_say"),
        (["！？。"], "nothing_to_say"),
        (["🔥🔥"], "nothing_to_say"),
        (["ก"], "unreadable_text"),
        (["好" * 100_000], "input_too_long"),
        (["好", "--voice", "nobody"], "unknown_voice"),
        (["好", "--dialect", "xx"], "unknown_dialect"),
        (["好", "--speed", "9"], "invalid_request"),
        (["好", "--speed", "nan"], "invalid_request"),
        (["好", "--pack", "/nowhere"], "pack_invalid"),
        (["好", "--pack", str(starter_directory())], "pack_invalid"),
    ],
)
def test_bad_input_is_exit_2_and_one_clear_line(
    tmp_path: Path, arguments: list[str], code: str
) -> None:
    out = tmp_path / "a.wav"
    exit_code, printed, told = say(*arguments, "--out", str(out))
    assert (exit_code, printed) == (2, "")
    assert told.count("\n") == 1
    assert f"yaohe-edge: {code}: " in told
    assert not out.exists()


@pytest.mark.parametrize("out", ["a.xyz", "a", "no/folder/a.wav"])
def test_a_file_that_cannot_be_is_exit_2(tmp_path: Path, out: str) -> None:
    exit_code, _, told = say("好", "--out", str(tmp_path / out))
    assert exit_code == 2
    assert told.count("\n") == 1


def test_an_unsigned_pack_speaks_when_told_and_is_never_kept(tmp_path: Path) -> None:
    out = str(tmp_path / "a.wav")
    pack = ["--pack", str(starter_directory()), "--unsigned"]
    for _ in range(2):
        code, _, told = say("好", "--out", out, *pack)
        assert code == 0
        assert "tier edge" in told


def test_an_unsigned_pack_is_refused_with_what_would_let_it_speak(
    tmp_path: Path,
) -> None:
    out, pack = str(tmp_path / "a.wav"), str(starter_directory())
    _, _, told = say("好", "--out", out, "--pack", pack)
    assert "--unsigned" in told
    assert "yaohe-edge enrol CODE --cloud" in told
    _, _, told = say("好", "--out", out, "--pack", str(tmp_path), "--unsigned")
    assert "--unsigned" not in told


def test_a_setting_that_cannot_be_is_exit_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("YAOHE_EDGE_HTTP__PORT", "many")
    exit_code, _, told = say("好", "--out", str(tmp_path / "a.wav"))
    assert exit_code == 2
    assert "YAOHE_EDGE_HTTP__PORT" in told


def test_read_shows_what_is_said_and_by_which_rule() -> None:
    result = run.invoke(app, ["read", TEXT])
    assert result.exit_code == 0
    assert "九点九" in result.stdout
    assert "jiu2 dian2 jiu3" in result.stdout


def test_read_as_json_is_one_object() -> None:
    result = run.invoke(app, ["read", "9.9元", "--json"])
    assert list(json.loads(result.stdout)) == [
        "spoken",
        "syllables",
        "surface",
        "spans",
        "unread",
    ]


def test_read_lines_answers_each_line_in_order() -> None:
    lines = [
        {"id": "a", "text": "9.9元", "dialect": "zh"},
        {"id": 2, "text": "你好"},
        {"id": 3, "text": ""},
    ]
    source = "\n".join(map(json.dumps, lines)) + "\n\n"
    result = run.invoke(app, ["read", "--jsonl"], input=source)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [answer["id"] for answer in answers] == ["a", 2, 3]
    assert set(answers[0]) == {
        "id",
        "spoken",
        "syllables",
        "surface",
        "spans",
        "unread",
    }


@pytest.mark.parametrize("name", ["NaN", "-Infinity", "[NaN]"])
def test_read_lines_never_writes_what_is_no_json(name: str) -> None:
    source = f'{{"id": {name}, "text": "好"}}\n'.encode()
    result = run.invoke(app, ["read", "--jsonl"], input=source)
    answer = json.loads(result.stdout, parse_constant=pytest.fail)
    assert result.exit_code == 2
    assert (answer["id"], answer["error"]["code"]) == (None, "invalid_request")


def test_read_lines_goes_on_after_a_bad_line_and_says_so_in_the_end() -> None:
    source = b'{"id": 1, "text": 3}\n\xff\xfe\n[]\n' + b'{"id": 4, "text": "\\ud83d"}\n'
    result = run.invoke(app, ["read", "--jsonl"], input=source + b'{"text": "ok"}\n')
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 2
    assert len(answers) == 5
    assert all(answer["error"]["code"] == "invalid_request" for answer in answers[:3])
    assert answers[4]["id"] is None


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_read_shows_what_is_unread_and_says_it_by_its_exit(more: list[str]) -> None:
    result = run.invoke(app, ["read", "好ก", *more])
    assert result.exit_code == 3
    assert "unread" in result.stdout


def test_read_lines_says_in_each_line_what_is_unread() -> None:
    result = run.invoke(app, ["read", "--jsonl"], input='{"text": "ก"}\n')
    assert result.exit_code == 0
    assert json.loads(result.stdout)["unread"]


@pytest.mark.parametrize("command", ["say", "doctor"])
def test_another_folder_is_another_box(command: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    words = ["好", "--out", str(tmp_path / "a.wav")] if command == "say" else []
    result = run.invoke(app, [command, *words, "--data", str(other)])
    assert result.exit_code == 0, result.output
    assert other.is_dir()
    assert not (tmp_path / "data").exists()
    if command == "doctor":
        assert str(other) in result.stdout


def test_read_without_a_text_is_exit_2() -> None:
    assert run.invoke(app, ["read"]).exit_code == 2


@pytest.mark.parametrize("command", ["say", "run", "doctor", "read"])
def test_every_command_explains_itself(command: str) -> None:
    result = run.invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert len(result.stdout) > 100


def test_doctor_speaks_plainly_and_to_programs() -> None:
    result = run.invoke(app, ["doctor"])
    assert result.exit_code == 0, result.stdout
    for word in ("runtime", "pack", "disk", "clock", "memory", "RTF", "packages"):
        assert word in result.stdout
    checks = json.loads(run.invoke(app, ["doctor", "--json"]).stdout)
    assert {check["verdict"] for check in checks} <= {"ok", "warn"}


def test_doctor_fails_where_the_box_cannot_keep_anything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("YAOHE_EDGE_DATA", str(tmp_path / "file" / "data"))
    result = run.invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "YAOHE_EDGE_DATA" in result.stdout


OWN = "说服\tshui4 fu2\n6.18\t=六月十八日\n"


def reads(*arguments: str) -> tuple[int, str, str]:
    result = run.invoke(app, ["read", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_read_shows_what_the_lexicon_decided(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    own.write_text(OWN, "utf-8")
    code, printed, _ = reads("6.18说服你", "--lexicon", str(own))
    assert code == 0
    assert "六月十八日说服你" in printed
    assert "lexicon.reading" in printed
    assert "shui4 fu2" in printed


@pytest.mark.parametrize(
    ("arguments", "spoken"),
    [
        (["10.9", "--context", "date"], "十月九日"),
        (["<say-as interpret-as='digits'>12</say-as>桌", "--ssml"], "一二桌"),
    ],
)
def test_read_takes_a_hint_and_markup(arguments: list[str], spoken: str) -> None:
    code, printed, _ = reads(*arguments, "--json")
    assert code == 0
    assert json.loads(printed)["spoken"] == spoken


@pytest.mark.parametrize("command", ["read", "say"])
@pytest.mark.parametrize(
    ("content", "told"),
    [("只有一列\n", "lexicon line 1"), (None, "No such file")],
)
def test_a_broken_lexicon_is_told_and_not_passed_over(
    command: str, content: str | None, told: str, tmp_path: Path
) -> None:
    own = tmp_path / "own.tsv"
    if content is not None:
        own.write_text(content, "utf-8")
    more = ["--out", str(tmp_path / "a.wav")] if command == "say" else []
    result = run.invoke(app, [command, "你好", "--lexicon", str(own), *more])
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_hint_that_nobody_knows_is_refused() -> None:
    code, _, told = reads("10.9", "--context", "prise")
    assert code == 2
    assert "price" in told


def test_say_reads_with_the_lexicon_the_hint_and_the_markup(tmp_path: Path) -> None:
    own = tmp_path / "own.tsv"
    own.write_text(OWN, "utf-8")
    text = "<speak>6.18，<sub alias='核对'>check</sub>10.9</speak>"
    options = ["--lexicon", str(own), "--context", "date", "--ssml", "--receipt"]
    code, printed, told = say(text, "--out", str(tmp_path / "a.wav"), *options)
    assert code == 0, told
    spoken = json.loads(printed)["spoken"]
    assert "六月十八日" in spoken
    assert "核对十月九日" in spoken
