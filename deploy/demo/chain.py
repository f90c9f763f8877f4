"""A whole chain on this machine, from no keys to an enrolled box.

Everything happens by the commands that an operator and a technician type; keys, data
and packs lie in one scratch folder.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import urllib.request
from pathlib import Path
from typing import Any

from common.voice.pack import starter_directory
from deploy.demo.servers import (
    BrokerServer,
    DemoError,
    Server,
    command,
    free_port,
    mosquitto,
)

BOX = "shop-1"
MAN = Path(__file__).parent / "packs" / "man"
DECODER = "decoder.onnx"
TIMEOUT_S = 30
SETTINGS = {
    "YAOHE_CLOUD_FLEET__ENABLED": "true",
    "YAOHE_CLOUD_FLEET__CHAIN": "demo",
    # Reports that a shop sends each minute are awaited here.
    "YAOHE_EDGE_SYNC__TICK_S": "1",
    "YAOHE_EDGE_SYNC__STATE_S": "1",
    "YAOHE_EDGE_SYNC__REPORT_S": "1",
    "YAOHE_EDGE_CLOUD__PROBE_S": "2",
    # Cloud and box share this machine's processor.
    "YAOHE_EDGE_POLICY__DEADLINE_MS": "5000",
}


class Chain:
    """One chain: keys, broker, cloud, box.

    Attributes:
        folder: The scratch folder.
        environment: Variables of every command.
        keys: The chain's keys.
        man: The man's pack, signed by them.
        broker: Mosquitto.
        cloud: The cloud.
        box: The box.
    """

    def __init__(self, folder: Path, logs: Path) -> None:
        """Choose places and ports; :meth:`start` starts.

        Args:
            folder: An empty folder.
            logs: Where logs go.
        """
        self.folder = folder
        self.keys = folder / "keys"
        self.man = folder / "man"
        ports = [free_port() for _ in range(3)]
        own = {k: v for k, v in os.environ.items() if not k.startswith("YAOHE_")}
        self.environment = {
            **own,
            **SETTINGS,
            "YAOHE_CLOUD_DATA": str(folder / "cloud"),
            "YAOHE_EDGE_DATA": str(folder / "box"),
            "YAOHE_CLOUD_FLEET__BROKER_PORT": str(ports[0]),
            "YAOHE_EDGE_CLOUD__URL": f"http://127.0.0.1:{ports[1]}",
        }
        config = folder / "cloud" / "fleet" / "broker" / "mosquitto.conf"
        broker = [mosquitto(), "-c", str(config)]
        packs = [f"--pack={starter_directory()}", f"--pack={self.man}", "--unsigned"]
        cloud = ["cloud", "serve", "--engine=packed", *packs]
        box = ["edge", "run", "--host=127.0.0.1"]
        self.broker = BrokerServer(
            "broker", broker, self.environment, ports[0], logs / "broker.log"
        )
        self.cloud = self._server(cloud, ports[1], logs)
        self.box = self._server(box, ports[2], logs)

    def _server(self, words: list[str], port: int, logs: Path) -> Server:
        name = {"cloud": "cloud", "edge": "box"}[words[0]]
        program = [sys.executable, "-m", *words, f"--port={port}"]
        return Server(name, program, self.environment, port, logs / f"{name}.log")

    def start(self) -> None:
        """Make the keys, start everything, enrol the box.

        Raises:
            DemoError: A command or a server failed.
        """
        self.run("distill", "keygen", str(self.keys))
        shutil.copytree(MAN, self.man)
        self.run("cloud", "packs", "trust", str(self.keys))
        self.run("cloud", "boxes", "broker")
        code = self.run("cloud", "boxes", "invite", BOX).splitlines()[-1]
        self.broker.start()
        self.cloud.start()
        self.run("edge", "enrol", code, "--cloud", self.cloud.address)
        self.box.start()

    def stop(self) -> None:
        """End whatever of it runs."""
        for server in (self.box, self.cloud, self.broker):
            server.stop()

    def run(self, *words: str) -> str:
        """Run a command that must succeed.

        Args:
            *words: Package and arguments.

        Returns:
            What it printed.

        Raises:
            DemoError: It failed.
        """
        code, said = command(self.environment, *words)
        if code != 0:
            raise DemoError(f"{' '.join(words[:3])}: {said}")
        return said

    def sign(self, pack: Path, keys: Path | None = None) -> None:
        """Sign a pack, by the chain's keys unless others are given."""
        self.run("distill", "sign", str(pack), "--keys", str(keys or self.keys))

    def version_of_man(self, version: str) -> Path:
        """Make another version of the man's pack, which sounds the same; unsigned.

        Args:
            version: The version.

        Returns:
            Its folder.
        """
        folder = self.folder / f"man-{version}"
        shutil.copytree(MAN, folder)
        decoder = folder / DECODER
        # Messages in a row are one message to protobuf: only its version is another.
        content = decoder.read_bytes() + b"\x1a%c" % len(version) + version.encode()
        decoder.write_bytes(content)
        path = folder / "manifest.json"
        manifest = json.loads(path.read_text("utf-8"))
        manifest["version"] = version
        digest = hashlib.sha256(content).hexdigest()
        manifest["files"][DECODER] = {"sha256": digest, "size": len(content)}
        path.write_text(json.dumps(manifest, ensure_ascii=False, indent=2), "utf-8")
        return folder

    def status(self) -> dict[str, Any]:
        """What the box says of itself."""
        return get(f"{self.box.address}/v1/status")

    def updates(self) -> list[dict[str, Any]]:
        """What became of the packs that came to the box."""
        rows: list[dict[str, Any]] = json.loads(
            self.run("edge", "packs", "list", "--json")
        )
        return rows

    def row(self) -> dict[str, Any]:
        """What the cloud knows of the box."""
        rows: list[dict[str, Any]] = json.loads(
            self.run("cloud", "boxes", "list", "--json")
        )
        return rows[0]


def get(address: str) -> dict[str, Any]:
    """Read a JSON object.

    Args:
        address: Where it is.

    Returns:
        The object.

    Raises:
        DemoError: Nobody answers.
    """
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:
            found: dict[str, Any] = json.load(answer)
    except OSError as error:
        raise DemoError(f"{address}: {error}") from None
    return found
