"""A second broker for a cluster of one, so that a partition can lose its only leader."""

import os
import re
import subprocess
from pathlib import Path

import psutil

from headway.kafka import jars
from headway.kafka.broker import Broker, _await, _free
from headway.kafka.process_guard import end_with_parent


def join(first: Broker, folder: Path) -> Broker:
    """Start a broker that belongs to the cluster of `first`; its number is 2."""
    folder.mkdir()
    port = _free()
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
    java = [jars.java(), "-Xmx192m", "-XX:+UseSerialGC", "-cp", os.pathsep.join(map(str, jars.fetched(jars.BROKER)))]
    made = [*java, "kafka.tools.StorageTool", "format", "-t", cluster[1], "-c", str(folder / "server.properties")]
    subprocess.run(made, check=True, capture_output=True)
    with (folder / "out.log").open("ab") as out:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(folder / "server.properties")], stdout=out, stderr=out,
            stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=end_with_parent,
        )  # fmt: skip
    second = Broker(port, process.pid, str(folder), psutil.Process(process.pid).create_time())
    _await(second, process)
    return second
