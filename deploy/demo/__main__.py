"""A whole chain on this machine, speaking: ``make demo``.

Starts Mosquitto, the cloud with a man's voice that the box does not have, and one
enrolled box, with empty state on free ports of the loopback. They run until Ctrl-C.
With ``--once`` it takes the tour instead: six steps, each checked; a table, one sound
file for each that was heard, and ``report.json`` in ``demo-out/``; exit code 0 when all
of it went as it should.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from deploy.demo.chain import BOX, Chain
from deploy.demo.cut import cut
from deploy.demo.report import Report, heading
from deploy.demo.servers import DemoError
from deploy.demo.sound import Ear, Heard
from deploy.demo.steps import cloud, local, pack, phrase
from deploy.demo.tampered import tampered

OUT = Path("demo-out")


def tour(chain: Chain) -> bool:
    """Take the six steps.

    Args:
        chain: A chain that runs.

    Returns:
        Whether all went as they should.
    """
    ear, report = Ear(chain.box, OUT), Report(OUT)
    from_cloud: Heard | None = None
    heading()
    with report.step("local") as step:
        local(step, chain, ear)
    with report.step("phrase") as step:
        phrase(step, chain, ear)
    with report.step("cloud") as step:
        from_cloud = cloud(step, chain, ear)
    good = from_cloud.pack_sha256 if from_cloud else ""
    with report.step("pack") as step:
        pack(step, chain, ear, good)
    with report.step("tampered") as step:
        tampered(step, chain, ear, good)
    with report.step("cut") as step:
        cut(step, chain, ear)
    report.write()
    print(f"\nsounds, logs and report.json: {OUT}/")
    return report.is_ok


def show(chain: Chain) -> None:
    """Say where everything is."""
    data = chain.environment["YAOHE_CLOUD_DATA"]
    print(f"player page   {chain.box.address}/player")
    print(f"status page   {chain.box.address}/")
    print(f"cloud         {chain.cloud.address}   its data: {data}")
    print(f"box           {BOX}, enrolled with the broker on port {chain.broker.port}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo.

    Args:
        argv: Arguments; the command line's when absent.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(prog="make demo", description="A whole chain.")
    parser.add_argument("--once", action="store_true", help="take the tour, then end")
    once: bool = parser.parse_args(argv).once
    OUT.mkdir(exist_ok=True)
    for old in (*OUT.glob("*.wav"), *OUT.glob("*.log"), *OUT.glob("report.json")):
        old.unlink()
    # Nothing stays behind, whatever ends it; a shell's background job is born deaf to
    # Ctrl-C, which must not make it immortal.
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    try:
        with tempfile.TemporaryDirectory(prefix="yaohe-") as folder:
            chain = Chain(Path(folder), OUT)
            try:
                chain.start()
                show(chain)
                if once:
                    return 0 if tour(chain) else 1
                print("All of it goes on until Ctrl-C.", flush=True)
                signal.pause()
            finally:
                chain.stop()
    except DemoError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nEnded.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
