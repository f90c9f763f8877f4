"""The figures of GPUs: what NVIDIA's command prints, and machines without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cloud import metrics
from cloud.gpu import MIB, Gpu, Gpus, parse
from cloud.metrics import Metrics

PRINTED = "0, 87, 10240, 23028\n1, [N/A], 5, 23028\n"


def test_every_gpu_is_a_line() -> None:
    assert parse(PRINTED) == (
        Gpu("0", 0.87, 10240 * MIB, 23028 * MIB),
        Gpu("1", None, 5 * MIB, 23028 * MIB),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No devices were found\n",
        "0, 1, 2\n",
        "x, 1, 2, 3",
        "0, 1, [N/A], 3",
        "²,1,²,3",
    ],
)
def test_what_makes_no_sense_is_no_gpu(text: str) -> None:
    assert parse(text) == ()


def test_a_machine_without_the_command_has_no_gpus() -> None:
    gpus = Gpus("no-such-command")
    gpus.ask()
    assert gpus.latest() == ()
    assert b"yaohe_cloud_gpu" not in Metrics().exposition()


def test_the_command_is_asked_and_what_it_says_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = tmp_path / "nvidia-smi"
    command.write_text(f"#!/bin/sh\ncat <<END\n{PRINTED}END\n")
    command.chmod(0o755)
    gpus = Gpus(str(command))
    gpus.ask()
    assert [gpu.utilisation for gpu in gpus.latest()] == [0.87, None]
    monkeypatch.setattr(metrics, "Gpus", lambda: gpus)
    shown = Metrics().exposition().decode()
    assert 'yaohe_cloud_gpu_utilisation_ratio{gpu="0"} 0.87' in shown
    assert 'yaohe_cloud_gpu_utilisation_ratio{gpu="1"}' not in shown
    assert 'yaohe_cloud_gpu_memory_used_bytes{gpu="1"}' in shown


def test_a_command_that_fails_is_no_gpu(tmp_path: Path) -> None:
    command = tmp_path / "nvidia-smi"
    command.write_text("#!/bin/sh\nexit 9\n")
    command.chmod(0o755)
    gpus = Gpus(str(command))
    gpus.ask()
    assert gpus.latest() == ()
