"""Compile the Java part into the jar that the package carries: `make jar`, after every change to it.

The same sources give the same bytes, and the manifest names their digest: a test compares it, so a stale jar is found
even where there is no Java compiler.
"""

import subprocess
import tempfile
import zipfile
from pathlib import Path

import pyspark

from headway.kafka.jars import connector
from headway.spark.jvm import JAR, SOURCES, digest

SERVICES = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"


def build(jar: Path = JAR) -> None:
    spark_jars = Path(pyspark.__file__).parent / "jars" / "*"
    classpath = ":".join(map(str, [spark_jars, *connector()]))
    with tempfile.TemporaryDirectory() as out:
        command = [
            "javac",
            "--release",
            "17",
            "-proc:none",
            "-g:none",
            "-cp",
            classpath,
            "-d",
            out,
            *map(str, SOURCES),
        ]
        subprocess.run(command, check=True)
        entries = {
            "META-INF/MANIFEST.MF": f"Manifest-Version: 1.0\r\nSources-SHA-256: {digest()[:32]}\r\n".encode(),
            SERVICES: b"headway.Control\nheadway.Clock\nheadway.AdEvents\n",
        } | {f.relative_to(out).as_posix(): f.read_bytes() for f in sorted(Path(out).rglob("*.class"))}
    made = jar.with_suffix(".new")  # a JVM that runs goes on with the file it has opened
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    made.replace(jar)


if __name__ == "__main__":
    build()
    print(f"{JAR.name}: {JAR.stat().st_size} bytes")
