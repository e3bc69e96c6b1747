"""Compile the Java part into the jars that the package carries: `make jar`, after every change to it.

The same sources give the same bytes, and the manifest names their digest: a test compares it, so a stale jar is found
even where there is no Java compiler. One jar is for Spark 4.1 and later, compiled against the pyspark that is installed; one
is for Spark 4.0, which has the classes of streaming queries in another package, compiled against Spark's own jars of that
version, which are fetched once. The laboratory has a jar of its own, with generators of streams.
"""

import re
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pyspark

from headway.kafka.jars import Bundle, connector, fetched
from headway.spark.jvm import JAR_4_0, NEWEST_JAR, SOURCES, digest_of
from headway_lab import jvm as lab

SERVICES = "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister"
_OLD = "4.0.0"
_PARTS = ("core", "catalyst", "sql", "sql-api", "common-utils", "unsafe", "tags", "launcher", "network-common", "kvstore")
SPARK_4_0 = Bundle(f"spark-{_OLD}", tuple(f"org.apache.spark:spark-{part}_2.13:{_OLD}" for part in _PARTS), transitive=False)
STREAMING = "org.apache.spark.sql.execution.streaming."
_MOVED = re.compile(re.escape(STREAMING) + r"(runtime|checkpointing|operators\.stateful(\.\w+)?)\.(?=[A-Z])")


def as_in_4_0(source: str) -> str:
    """A source with the packages that Spark 4.0 had."""
    return _MOVED.sub(STREAMING, source)


def build(jar: Path = NEWEST_JAR) -> None:
    """The jar for the Spark that is installed, 4.1 or later."""
    _build(jar, _jars(), lambda source: source)


def build_4_0(jar: Path = JAR_4_0) -> None:
    others = [found for found in _jars() if not found.name.startswith("spark-")]  # Scala, Hadoop and such are the same
    _build(jar, [*fetched(SPARK_4_0), *others], as_in_4_0)


def _jars() -> list[Path]:
    return sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))


def build_lab(jar: Path = lab.JAR) -> None:
    """Generators of test streams, which use nothing that a version of Spark has elsewhere."""
    _build(jar, _jars(), lambda source: source, lab.SOURCES, b"headway.lab.AdEvents\n")


def _build(
    jar: Path,
    spark: list[Path],
    translate: Callable[[str], str],
    files: Sequence[Path] = SOURCES,
    services: bytes = b"headway.Control\n",
) -> None:
    classpath = ":".join(map(str, [*spark, *connector()]))
    with tempfile.TemporaryDirectory() as place:
        out = Path(place, "classes")
        sources = [Path(place, source.name) for source in files]
        for path, source in zip(sources, files, strict=True):
            path.write_text(translate(source.read_text("utf-8")), "utf-8")
        command = ["javac", "--release", "17", "-proc:none", "-g:none", "-cp", classpath, "-d", str(out)]
        subprocess.run([*command, *map(str, sources)], check=True)
        entries = {
            "META-INF/MANIFEST.MF": f"Manifest-Version: 1.0\r\nSources-SHA-256: {digest_of(files)[:32]}\r\n".encode(),
            SERVICES: services,
        } | {f.relative_to(out).as_posix(): f.read_bytes() for f in sorted(out.rglob("*.class"))}
    made = jar.with_suffix(".new")  # a JVM that runs goes on with the file it has opened
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    made.replace(jar)
    print(f"{jar.name}: {jar.stat().st_size} bytes")


if __name__ == "__main__":
    build()
    build_4_0()
    build_lab()
