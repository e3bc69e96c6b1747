"""A real HDFS, as small as can be: a NameNode and a DataNode in one JVM of their own, on loopback."""

from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from headway.kafka.jars import Bundle, fetched

JARS = Path(pyspark.__file__).parent / "jars"


def bundle() -> Bundle:
    """The servers of the Hadoop whose client PySpark has."""
    (client,) = JARS.glob("hadoop-client-api-*.jar")
    version = client.stem.removeprefix("hadoop-client-api-")
    name = "hadoop-client-minicluster"
    return Bundle(f"{name}-{version}", (f"org.apache.hadoop:{name}:{version}",), transitive=False)


class Hdfs:
    """Ends with the process that has started it."""

    def __init__(self, folder: Path) -> None:
        (py4j,) = JARS.glob("py4j-*.jar")
        servers = ":".join(map(str, fetched(bundle())))
        brief = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        port = launch_gateway(jarpath=str(py4j), classpath=f"{servers}:{JARS}/*", die_on_exit=True, javaopts=brief)
        self._gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        java = self._gateway.jvm
        java.org.apache.hadoop.metrics2.lib.DefaultMetricsSystem.setMiniClusterMode(True)  # two servers share a JVM
        conf = java.org.apache.hadoop.hdfs.HdfsConfiguration()
        for key, value in _settings(folder).items():
            conf.set(key, value)
        java.org.apache.hadoop.hdfs.server.namenode.NameNode.format(conf)
        self._name = java.org.apache.hadoop.hdfs.server.namenode.NameNode(conf)
        self.address = f"hdfs://127.0.0.1:{self._name.getNameNodeAddress().getPort()}"
        conf.set("fs.defaultFS", self.address)
        nothing = self._gateway.new_array(java.java.lang.String, 0)
        self._data = java.org.apache.hadoop.hdfs.server.datanode.DataNode.createDataNode(nothing, conf)
        self.conf: Any = conf

    def stop(self) -> None:
        self._gateway.shutdown()


def _settings(folder: Path) -> dict[str, str]:
    anywhere = "127.0.0.1:0"
    return {
        "fs.defaultFS": f"hdfs://{anywhere}",
        "dfs.namenode.name.dir": f"file://{folder}/name",
        "dfs.datanode.data.dir": f"file://{folder}/data",
        "dfs.namenode.http-address": anywhere,
        "dfs.datanode.address": anywhere,
        "dfs.datanode.ipc.address": anywhere,
        "dfs.datanode.http.address": anywhere,
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
        "dfs.datanode.du.reserved.pct": "0",
    }
