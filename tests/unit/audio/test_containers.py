from __future__ import annotations

import io
import wave
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from common.audio.containers import (
    MEDIA_TYPES,
    available_formats,
    encode_whole,
    media_type,
    read_provenance,
    samples_of,
    stream_encoder,
)
from common.audio.flac import read_flac_comments
from common.audio.mp3 import read_mp3_comments
from common.audio.opus import OpusMaster, encode_master
from common.audio.pcm import SAMPLE_RATE, Pcm, from_s16, to_s16
from common.audio.provenance import Provenance
from common.audio.tags import read_comments
from common.audio.wav import read_wav_comments
from common.errors import YaoheError
from common.speech import Whole

CONTAINERS = ["wav", "opus", "mp3", "flac"]
LENGTHS = [1, 500, 24_000, 72_123]
MP3_EXCESS = 2 * 1152
"""Samples by which a streamed mp3 may be longer: delay and padding of the codec."""


def code_of(call: Callable[[], object]) -> str | None:
    """The code that a call fails with; None where it gives a value."""
    try:
        call()
    except YaoheError as error:
        return error.code
    return None


def whole(pcm: Pcm) -> Whole:
    return Whole(pcm.size / SAMPLE_RATE, pcm=pcm)


def streamed(name: str, pcm: Pcm, origin: Provenance, step: int = 1001) -> list[bytes]:
    encoder = stream_encoder(name, origin)
    parts = [encoder.feed(pcm[at : at + step]) for at in range(0, pcm.size, step)]
    return [*parts, encoder.finish()]


def decoded(data: bytes) -> Pcm:
    heard, rate = soundfile.read(io.BytesIO(data), dtype="float32")
    assert rate == SAMPLE_RATE
    assert heard.ndim == 1
    return np.asarray(heard, dtype=np.float32)


@pytest.mark.parametrize("samples", LENGTHS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_a_whole_file_decodes_to_what_went_in(
    sound: Callable[[int], Pcm], provenance: Provenance, name: str, samples: int
) -> None:
    pcm = sound(samples)
    heard = decoded(encode_whole(name, whole(pcm), provenance))
    assert heard.size == samples
    if samples > 480:
        assert np.corrcoef(pcm, heard)[0, 1] > 0.95


@pytest.mark.parametrize("samples", LENGTHS)
@pytest.mark.parametrize("name", CONTAINERS)
def test_a_saved_stream_decodes_to_what_went_in(
    sound: Callable[[int], Pcm], provenance: Provenance, name: str, samples: int
) -> None:
    pcm = sound(samples)
    heard = decoded(b"".join(streamed(name, pcm, provenance)))
    if name == "mp3":
        assert samples <= heard.size <= samples + MP3_EXCESS
        heard = heard[1105:]
    else:
        assert heard.size == samples
    if samples > 480:
        assert np.corrcoef(pcm, heard[:samples])[0, 1] > 0.95


@pytest.mark.parametrize("name", ["wav", "flac"])
def test_lossless_means_the_very_samples(
    sound: Callable[[int], Pcm], provenance: Provenance, name: str
) -> None:
    pcm = sound(20_011)
    expected = from_s16(to_s16(pcm))
    for data in (
        encode_whole(name, whole(pcm), provenance),
        b"".join(streamed(name, pcm, provenance)),
    ):
        assert np.array_equal(decoded(data), expected)


@pytest.mark.parametrize("step", [1, 333, 480, 24_000, 100_000])
def test_streamed_pcm_is_whole_pcm_for_any_chunk(
    sound: Callable[[int], Pcm], provenance: Provenance, step: int
) -> None:
    pcm = sound(3001 if step == 1 else 30_011)
    once = encode_whole("pcm", whole(pcm), provenance)
    assert b"".join(streamed("pcm", pcm, provenance, step)) == once == to_s16(pcm)


@pytest.mark.parametrize("name", CONTAINERS)
def test_the_origin_is_read_back_from_every_container(
    sound: Callable[[int], Pcm], provenance: Provenance, name: str
) -> None:
    pcm = sound(9000)
    assert read_provenance(encode_whole(name, whole(pcm), provenance)) == provenance
    assert read_provenance(b"".join(streamed(name, pcm, provenance))) == provenance


@pytest.mark.parametrize(
    ("name", "magic"),
    [("wav", b"RIFF"), ("opus", b"OpusHead"), ("mp3", b"ID3"), ("flac", b"fLaC")],
)
def test_a_stream_of_many_chunks_has_one_header(
    sound: Callable[[int], Pcm], provenance: Provenance, name: str, magic: bytes
) -> None:
    parts = streamed(name, sound(48_000), provenance, 700)
    assert b"".join(parts).count(magic) == 1
    first = next(part for part in parts if part)
    assert magic in first[:64]


@pytest.mark.parametrize("name", ["wav", "pcm", "opus", "mp3"])
def test_sound_leaves_before_the_end_is_known(
    sound: Callable[[int], Pcm], provenance: Provenance, name: str
) -> None:
    parts = streamed(name, sound(48_000), provenance, 4800)
    assert sum(map(len, parts[:5])) > 0.3 * sum(map(len, parts))


def test_a_saved_wav_has_its_true_length(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    data = encode_whole("wav", whole(sound(72_123)), provenance)
    with wave.open(io.BytesIO(data)) as file:
        assert file.getnframes() == 72_123
        assert file.getframerate() == SAMPLE_RATE
        assert (file.getnchannels(), file.getsampwidth()) == (1, 2)
    assert int.from_bytes(data[4:8], "little") == len(data) - 8


def test_a_saved_wav_begins_with_sound_at_byte_44(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    pcm = sound(1000)
    data = encode_whole("wav", whole(pcm), provenance)
    assert data[36:40] == b"data"
    assert data[44:2044] == to_s16(pcm)


def test_a_streaming_wav_says_that_its_end_is_not_known(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    pcm = sound(1000)
    data = b"".join(streamed("wav", pcm, provenance))
    at = data.index(b"data")
    assert data[4:8] == data[at + 4 : at + 8] == b"\xff" * 4
    assert data[at + 8 :] == to_s16(pcm)
    assert int.from_bytes(data[24:28], "little") == SAMPLE_RATE


def test_opus_is_as_long_as_wav(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    speech = whole(sound(100_003))
    opus, wav = (decoded(encode_whole(f, speech, provenance)) for f in ("opus", "wav"))
    assert abs(opus.size - wav.size) <= 1


def test_a_cached_master_is_sent_as_it_lies_on_disk(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    data = encode_master(sound(9000), provenance.comments()).to_bytes()
    master = OpusMaster.from_bytes(data)
    kept = Whole(master.duration_s, opus=master)
    assert encode_whole("opus", kept, provenance) is data


@pytest.mark.parametrize("name", ["wav", "pcm", "mp3", "flac"])
def test_a_master_becomes_any_other_format(
    sound: Callable[[int], Pcm], provenance: Provenance, name: str
) -> None:
    master = encode_master(sound(9001))
    kept = Whole(master.duration_s, opus=master)
    data = encode_whole(name, kept, provenance)
    heard = from_s16(data) if name == "pcm" else decoded(data)
    assert heard.size == 9001
    assert np.corrcoef(heard, samples_of(kept))[0, 1] > 0.99


@pytest.mark.parametrize("name", list(MEDIA_TYPES))
def test_an_empty_sound_is_never_a_file(provenance: Provenance, name: str) -> None:
    empty = Whole(0.0, pcm=np.zeros(0, np.float32))
    with pytest.raises(YaoheError) as refusal:
        encode_whole(name, empty, provenance)
    assert refusal.value.code == "voice_unavailable"


@pytest.mark.parametrize("name", ["aac", "", "WAV", "ogg", "\ud800"])
def test_a_format_without_an_encoder_is_refused(
    sound: Callable[[int], Pcm], provenance: Provenance, name: str
) -> None:
    for attempt in (
        lambda: media_type(name),
        lambda: stream_encoder(name, provenance),
        lambda: encode_whole(name, whole(sound(10)), provenance),
    ):
        with pytest.raises(YaoheError) as refusal:
            attempt()
        assert refusal.value.code == "unsupported_format"
        assert refusal.value.param == "response_format"


@pytest.mark.parametrize("name", list(MEDIA_TYPES))
def test_a_stream_that_ends_at_once_is_no_fault(
    provenance: Provenance, name: str
) -> None:
    encoder = stream_encoder(name, provenance)
    ended = encoder.feed(np.zeros(0, np.float32)) + encoder.finish()
    assert len(ended) < 2000


def test_every_format_is_available_here() -> None:
    assert available_formats() == tuple(MEDIA_TYPES)


def test_raw_samples_announce_their_rate() -> None:
    assert media_type("pcm") == "audio/pcm;rate=24000;channels=1"


def test_the_label_is_where_the_practice_guide_looks_for_it(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    label = dict(provenance.comments())["AIGC"]
    wav = encode_whole("wav", whole(sound(100)), provenance)
    at = wav.index(b"AIGC" + len(label).to_bytes(4, "little"))
    assert wav[at + 8 : at + 8 + len(label)] == label.encode()
    mp3 = encode_whole("mp3", whole(sound(100)), provenance)
    assert dict(read_mp3_comments(mp3))["AIGC"] == label
    flac = encode_whole("flac", whole(sound(100)), provenance)
    assert dict(read_flac_comments(flac))["AIGC"] == label


@given(st.binary(max_size=300))
def test_any_bytes_give_an_origin_or_our_error(data: bytes) -> None:
    starts = (b"", b"RIFF....WAVE", b"fLaC", b"ID3\x03\0\0", b"ID3\x03\0\0\0\0\0\x40")
    for start in (*starts, b"RIFF....WAVELIST\x40\0\0\0INFOICMT", b"OggS"):
        code = code_of(partial(read_provenance, start + data))
        assert code in (None, "invalid_request")


@given(st.binary(max_size=200))
def test_any_comments_give_a_value_or_our_error(data: bytes) -> None:
    for reader in (read_comments, read_wav_comments):
        assert code_of(partial(reader, data)) in (None, "invalid_request")
