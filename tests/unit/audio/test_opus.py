from __future__ import annotations

import ctypes.util
import io
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
import soundfile

from common.audio.opus import (
    FRAME,
    OpusMaster,
    PacketEncoder,
    decode,
    encode_master,
)
from common.audio.pcm import SAMPLE_RATE, Pcm
from common.audio.provenance import Provenance
from common.errors import YaoheError

LENGTHS = [1, 479, 480, 481, 803, 804, 805, 24_000, 72_123]


@pytest.mark.parametrize("samples", LENGTHS)
def test_nothing_is_lost_at_either_end(
    sound: Callable[[int], Pcm], samples: int
) -> None:
    master = OpusMaster.from_bytes(encode_master(sound(samples)).to_bytes())
    assert master.samples == samples
    assert decode(master).size == samples


@pytest.mark.parametrize("samples", LENGTHS)
def test_another_decoder_reads_the_file_to_the_sample(
    sound: Callable[[int], Pcm], samples: int
) -> None:
    pcm = sound(samples)
    heard, rate = soundfile.read(
        io.BytesIO(encode_master(pcm).to_bytes()), dtype="float32"
    )
    assert rate == SAMPLE_RATE
    assert heard.size == samples
    if samples > FRAME:
        assert np.corrcoef(pcm, heard)[0, 1] > 0.95


def test_the_last_word_is_heard(sound: Callable[[int], Pcm]) -> None:
    pcm = sound(48_017)
    pcm[:-2400] = 0
    heard = decode(encode_master(pcm))
    assert np.corrcoef(pcm[-2400:], heard[-2400:])[0, 1] > 0.9


def test_the_file_itself_is_the_master_on_disk(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    data = encode_master(sound(9000), provenance.comments()).to_bytes()
    kept = OpusMaster.from_bytes(data)
    assert kept.to_bytes() is data
    assert kept.to_bytes(provenance.comments()) is data


def test_new_comments_leave_the_packets_alone(
    sound: Callable[[int], Pcm], provenance: Provenance
) -> None:
    master = OpusMaster.from_bytes(encode_master(sound(9000)).to_bytes())
    told = OpusMaster.from_bytes(master.to_bytes(provenance.comments()))
    assert told.packets == master.packets
    assert told.samples == master.samples
    assert Provenance.from_comments(told.comments) == provenance


def test_the_same_sound_gives_the_same_file(sound: Callable[[int], Pcm]) -> None:
    assert encode_master(sound(9000)) == encode_master(sound(9000))


@pytest.mark.parametrize("step", [1, 100, 480, 1000, 30_000])
def test_chunking_does_not_change_a_packet(
    sound: Callable[[int], Pcm], step: int
) -> None:
    pcm = sound(2000 if step == 1 else 20_011)
    whole = PacketEncoder()
    parts = PacketEncoder()
    packets = [
        packet
        for at in range(0, pcm.size, step)
        for packet in parts.feed(pcm[at : at + step])
    ]
    assert packets + parts.finish() == whole.feed(pcm) + whole.finish()
    assert parts.samples == pcm.size


def test_a_chunk_may_be_overwritten_by_its_owner(sound: Callable[[int], Pcm]) -> None:
    buffer = sound(300)
    one, two = PacketEncoder(), PacketEncoder()
    one.feed(buffer)
    two.feed(buffer.copy())
    buffer[:] = 0
    assert one.finish() == two.finish()


def test_the_bitrate_can_change_on_the_way(sound: Callable[[int], Pcm]) -> None:
    encoder = PacketEncoder(64_000)
    rich = sum(map(len, encoder.feed(sound(48_000))))
    encoder.set_bitrate(12_000)
    assert sum(map(len, encoder.feed(sound(48_000)))) < rich / 3


def test_no_number_and_too_loud_are_encoded_as_sound() -> None:
    pcm = np.array([np.nan, np.inf, -9e9, 0.5] * 480, dtype=np.float32)
    assert np.all(np.isfinite(decode(encode_master(pcm))))


def test_an_empty_sound_is_never_a_master() -> None:
    with pytest.raises(YaoheError) as refusal:
        encode_master(np.zeros(0, np.float32))
    assert refusal.value.code == "internal_error"


def test_a_damaged_packet_is_an_error_and_no_noise() -> None:
    master = OpusMaster((b"\x0b" + bytes(range(200)),) * 3, 312, 700)
    with pytest.raises(YaoheError):
        decode(master)


def test_without_the_library_the_error_names_the_package() -> None:
    program = (
        "import ctypes.util; ctypes.util.find_library = lambda name: None\n"
        "from common.audio.opus import PacketEncoder\n"
        "from common.errors import YaoheError\n"
        "try: PacketEncoder()\n"
        "except YaoheError as error: print(error.code, error.message)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ctypes.util.find_library("opus") is not None
    assert ran.stdout.startswith("unsupported_format")
    assert "apt-get install libopus0" in ran.stdout
