"""The wire between service and workers: both may be of different versions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cloud.worker import synthesizer_pb2 as pb
from cloud.worker import wire

GOLDEN = Path(__file__).parent / "golden" / "worker.json"
PROTO = "cloud/worker/synthesizer.proto"
CODE = ("synthesizer_pb2.py", "synthesizer_pb2.pyi", "synthesizer_pb2_grpc.py")


def fields() -> dict[str, dict[str, list[object]]]:
    """Number, type and whether there are many, of every field of every message."""
    return {
        name: {
            field.name: [field.number, field.type, field.is_repeated]
            for field in message.fields
        }
        for name, message in pb.DESCRIPTOR.message_types_by_name.items()
    }


def test_no_field_changes_its_number_or_type() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    now = fields()
    for message, kept in golden["fields"].items():
        for name, field in kept.items():
            assert now[message][name] == field, f"{message}.{name}"


def test_no_call_changes_its_name() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    (service,) = pb.DESCRIPTOR.services_by_name.values()
    assert golden["service"] == wire.SERVICE
    assert [method.name for method in service.methods] == golden["methods"]
    assert golden["error_key"] == wire.ERROR_KEY


def test_a_job_of_an_earlier_version_is_still_read() -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    job = wire.job_of(pb.Job.FromString(bytes.fromhex(golden["job"])))
    assert (job.utterance, job.voice, job.dialect, job.seed) == ("u1", "woman", "zh", 7)
    assert job.text == "九点九元"
    assert job.reading.surface == ("jiu2", "dian2", "jiu3", "yuan2")


@pytest.mark.slow
def test_the_code_is_that_of_the_proto(root: Path, tmp_path: Path) -> None:
    outs = ("python_out", "pyi_out", "grpc_python_out")
    command = [sys.executable, "-m", "grpc_tools.protoc", "-I."]
    command += [f"--{out}={tmp_path}" for out in outs]
    subprocess.run([*command, PROTO], cwd=root, check=True)
    for name in CODE:
        made = (tmp_path / "cloud" / "worker" / name).read_text("utf-8")
        assert made == (root / "cloud" / "worker" / name).read_text("utf-8"), name
