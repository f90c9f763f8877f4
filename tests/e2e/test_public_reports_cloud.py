"""Faults that users reported on comparable services, tried on a running cloud."""

from __future__ import annotations

import hashlib
import io
import threading
import wave
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from common.audio.opus import OpusMaster
from tests.e2e.clouds import Cloud, running_cloud

pytestmark = pytest.mark.slow

SPEECH = "/v1/audio/speech"
PRICE = "今日特价，新鲜草莓每斤9.9元。"
CALL = "请A023号顾客到3号窗口取餐。"
FOUR = "欢迎光临。今天天气很好！请保管好随身物品？谢谢您的配合。"
LONG = (FOUR * 200)[:4096]


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Nothing is answered from memory: every sound is made."""
    data = tmp_path_factory.mktemp("cloud")
    # A busy machine fails no test.
    patient = {"QUEUE__CAPACITY": "200", "QUEUE__FIRST_AUDIO_MS": "600000"}
    with running_cloud(data, CACHE__MAX_BYTES="0", **patient) as running:
        yield running


def asked(cloud: Cloud, text: str, kind: str = "pcm") -> httpx.Response:
    with cloud.client() as client:
        answer = client.post(SPEECH, json={"input": text, "response_format": kind})
    return answer


def spoken(cloud: Cloud, text: str, kind: str = "pcm") -> bytes:
    answer = asked(cloud, text, kind)
    assert answer.status_code == 200, answer.text
    return answer.content


def said(cloud: Cloud, text: str) -> str:
    """The words that a cloud says it speaks for a text."""
    answer = asked(cloud, text)
    assert answer.status_code == 200, answer.text
    with cloud.client() as client:
        number = answer.headers["x-yaohe-utterance"]
        words: str = client.get(f"/v1/receipts/{number}").json()["spoken"]
    return words


@pytest.mark.parametrize(
    "text", ["今日[laugh]特价[uv_break]", "今日特价[oral_2][speed_5]", "“今日”\n特价？"]
)
def test_no_token_or_newline_is_spoken(cloud: Cloud, text: str) -> None:
    words = said(cloud, text)
    assert "今日" in words
    assert "特价" in words
    assert not set("[]_\nlaughoralspeeduvbreak") & set(words)


def test_emoji_and_boxes_are_silent(cloud: Cloud) -> None:
    assert said(cloud, "🔥爆款✅│") == "爆款"


@pytest.mark.parametrize("text", ["我爱你呀", "嗯", "8"])
def test_a_very_short_text_has_sound(cloud: Cloud, text: str) -> None:
    assert len(spoken(cloud, text)) > 48_000 // 10


def test_six_hundred_characters_without_a_stop_are_spoken(cloud: Cloud) -> None:
    text = "欢迎光临今天天气很好" * 60
    assert len(spoken(cloud, text)) > 60 * len(spoken(cloud, "欢迎")) / 2


def test_a_text_far_too_long_is_refused_and_the_next_one_spoken(cloud: Cloud) -> None:
    refused = asked(cloud, "好" * 25_000)
    assert (refused.status_code, refused.json()["error"]["code"]) == (
        400,
        "input_too_long",
    )
    assert spoken(cloud, CALL)


def test_a_client_that_gives_up_a_long_text_leaves_nothing_running(
    cloud: Cloud,
) -> None:
    body = {"input": LONG, "response_format": "flac"}
    for _ in range(6):
        with cloud.client() as client, pytest.raises(httpx.ReadTimeout):
            client.post(SPEECH, json=body, timeout=0.5)
    assert spoken(cloud, CALL)
    with cloud.client() as client:
        shown = client.get("/metrics").text
    assert "yaohe_cloud_slots_busy_count 0.0" in shown
    assert "tts_queue_length 0.0" in shown


def test_a_streamed_wav_has_one_header_and_all_four_sentences(cloud: Cloud) -> None:
    file, samples = spoken(cloud, FOUR, "wav"), spoken(cloud, FOUR)
    assert file.count(b"RIFF") == file.count(b"WAVE") == 1
    assert file[file.index(b"data") + 8 :] == samples
    sized = bytearray(file)
    at = file.index(b"data") + 4
    sized[at : at + 4] = len(samples).to_bytes(4, "little")
    with wave.open(io.BytesIO(bytes(sized))) as reader:
        assert (reader.getframerate(), reader.getnchannels()) == (24_000, 1)
        assert reader.readframes(reader.getnframes()) == samples


def test_opus_is_as_long_as_wav(cloud: Cloud) -> None:
    opus = OpusMaster.from_bytes(spoken(cloud, FOUR, "opus"))
    assert opus.duration_s == pytest.approx(len(spoken(cloud, FOUR)) / 48_000, abs=0.04)


def test_a_hundred_callers_at_once_each_get_their_own_text(cloud: Cloud) -> None:
    texts = (PRICE, CALL)
    alone = {text: hashlib.sha256(spoken(cloud, text)).digest() for text in texts}
    assert len(set(alone.values())) == len(texts)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda n: spoken(cloud, texts[n % 2]), range(100)))
    for number, sound in enumerate(answers):
        assert hashlib.sha256(sound).digest() == alone[texts[number % 2]]


def test_another_price_is_another_sound(cloud: Cloud) -> None:
    assert said(cloud, PRICE) != said(cloud, PRICE.replace("9.9", "8.8"))
    assert spoken(cloud, PRICE) != spoken(cloud, PRICE.replace("9.9", "8.8"))


def test_a_short_text_is_not_stuck_behind_long_ones(cloud: Cloud) -> None:
    ended: list[str] = []

    def listen(name: str, text: str) -> None:
        spoken(cloud, text)
        ended.append(name)

    long = [
        threading.Thread(target=listen, args=("long", LONG[:1500])) for _ in range(3)
    ]
    for thread in long:
        thread.start()
    short = threading.Thread(target=listen, args=("short", CALL))
    short.start()
    for thread in (*long, short):
        thread.join()
    assert ended[0] == "short"


def test_one_voice_sounds_the_same_ten_times_and_after_a_restart(
    cloud: Cloud, tmp_path: Path
) -> None:
    sounds = {spoken(cloud, PRICE) for _ in range(10)}
    with running_cloud(tmp_path) as again:
        sounds.add(spoken(again, PRICE))
    assert len(sounds) == 1
