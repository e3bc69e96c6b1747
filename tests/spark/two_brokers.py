"""A second broker for a cluster of one, so that a partition can lose its only leader."""

import os
import re
import subprocess
from pathlib import Path

from headway.java import java
from headway.kafka import jars
from headway.kafka.broker import Broker
from headway.servers import process as servers


def join(first: Broker, folder: Path) -> Broker:
    """Start a broker that belongs to the cluster of `first`; its number is 2."""
    folder.mkdir()
    port = servers.free_port()
    settings = Path(first.folder, "server.properties").read_text()
    changed = {
        "process.roles": "broker",
        "node.id": "2",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(folder / "data"),
    }
    for key, value in changed.items():
        settings = re.sub(rf"(?m)^{re.escape(key)}=.*$", f"{key}={value}", settings)
    (folder / "server.properties").write_text(settings)
    cluster = re.search(r"(?m)^cluster\.id=(.*)$", Path(first.folder, "data", "meta.properties").read_text())
    assert cluster is not None
    jvm = [java(), "-Xmx192m", "-XX:+UseSerialGC", "-cp", os.pathsep.join(map(str, jars.fetched(jars.BROKER)))]
    made = [*jvm, "kafka.tools.StorageTool", "format", "-t", cluster[1], "-c", str(folder / "server.properties")]
    subprocess.run(made, check=True, capture_output=True)
    process = servers.launched([*jvm, "kafka.Kafka", str(folder / "server.properties")], folder, ends_with_parent=True)
    second = Broker(port, process.pid, str(folder), servers.born(process))
    servers.wait_until_up("kafka", second, process)
    return second
