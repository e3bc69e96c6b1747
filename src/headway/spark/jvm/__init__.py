"""The part of Headway that runs inside Spark's JVM: a jar of a few classes, compiled from the Java files beside it.

It holds the control source as the Java twin of the Python one, a checkpoint writer that starts no processes, the tally of a
batch's rows, and a rule that leaves out of a batch's plan what no task needs. Nothing depends on it: without the jar the
Python sources do the same, at a higher price.

Spark 4.1 has moved the classes of streaming queries to other packages. So there are two jars, from the same sources.
"""

import hashlib
import importlib.util
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CONTROL = "headway-control"  # the name of the source in it
CHECKPOINTS, EXTENSIONS = "headway.LocalCheckpoints", "headway.Extensions"
_HERE = Path(__file__).parent
SOURCES = sorted((_HERE / "headway").glob("*.java"))
NEWEST_JAR, JAR_4_0 = _HERE / "headway.jar", _HERE / "headway-4.0.jar"


def fitting(spark: str) -> Path:
    """The jar for this version of Spark."""
    return JAR_4_0 if spark.startswith("4.0.") else NEWEST_JAR


def installed_spark() -> str:
    """The version of the pyspark that would be loaded, read without loading it, which takes long.

    By its loader: `spark-submit` has pyspark in a zip.
    """
    found = importlib.util.find_spec("pyspark")
    loader: Any = None if found is None else found.loader
    if found is None or loader is None or found.origin is None:
        return "unknown"
    text = loader.get_data(str(Path(found.origin).with_name("version.py"))).decode()
    version = re.search(r"^__version__.*= *['\"](\d[^'\"]*)['\"]", text, re.MULTILINE)
    return version[1] if version else "unknown"


JAR = fitting(installed_spark())


def digest() -> str:
    """What the sources are, in one word."""
    return digest_of(SOURCES)


def digest_of(sources: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def present(spark: Any) -> bool:
    """Whether this session's JVM has the jar."""
    return in_jvm(spark._jvm)


def in_jvm(running: Any) -> bool:
    """Whether a JVM has it, and not the one for another Spark."""
    from py4j.java_gateway import JavaClass

    return isinstance(running.headway.Fit, JavaClass) and bool(running.headway.Fit.fits())


def send(spark: Any) -> None:
    """To the executors of a cluster, if only the driver was given the jar: by its class path, say. Once is enough."""
    context = spark.sparkContext
    if not context.master.startswith("local") and JAR.name not in context._jsc.sc().listJars().mkString(","):
        context._jsc.addJar(str(JAR))
