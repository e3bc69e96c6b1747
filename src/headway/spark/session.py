"""A Spark session that suits many small streaming queries on one machine."""

import atexit
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, SettingError, aloud
from headway.kafka.jars import CONNECTOR, fetched
from headway.spark import jvm
from headway.spark.given import JARS, jvm_is_up, running_jvm, settings, with_jar
from headway.spark.jvm import CHECKPOINTS, EXTENSIONS, JAR

# What suits many small batches. Each of these moves stock Spark as well as Headway; `headway bench` gives both the same.
# `docs/session.md` has the gain of each.
TUNED = {
    # Spark's own writers fork `chmod` for every file of a checkpoint, a dozen for each batch; this one does not.
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINTS,
    # With one partition `rt.watermark` makes a batch one task that shuffles nothing; queries run side by side instead.
    "spark.sql.shuffle.partitions": "1",
    # Spark serialises a batch's plan half a dozen times, and most of its bytes are the logical plan, which no task needs.
    "spark.headway.lean": "true",
    # Where a shuffle turns out empty Spark would forget what is below it: the watermark, and how many rows had come.
    "spark.sql.adaptive.streaming.stateless.enabled": "false",
}
NEED_JAR = ("spark.sql.streaming.checkpointFileManagerClass", "spark.headway.lean")
INTERPRETED = {
    # A watermark is a constant in generated code and changes with every batch: each batch would compile anew.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Without generated code, looking up a common subexpression costs more, for every row, than computing it again.
    "spark.sql.subexpressionElimination.enabled": "false",
}
_LAUNCHER = "headway-python-"
CODE_PAYS_ROWS = 100_000  # from so many rows a batch on, generated code is worth its compilation (docs/session.md)
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.metricsEnabled": "false",
}


def profile(rows_per_batch: int = 1_000) -> dict[str, str]:
    """The settings for batches of about so many rows."""
    if not isinstance(rows_per_batch, int) or isinstance(rows_per_batch, bool) or rows_per_batch < 1:
        raise SettingError("rows_per_batch", rows_per_batch, "the rows that a usual batch has, 1 or more")
    return TUNED | (INTERPRETED if rows_per_batch < CODE_PAYS_ROWS else {})


def tune(builder: Any, *, rows_per_batch: int = 1_000) -> Any:
    """A `SparkSession.builder` with Headway's jar and the settings for many queries of small batches.

    What you have set yourself stays, on the builder, on the command line or in Spark's files; jars and extensions are put
    beside yours. On a cluster too: the jar goes to the executors, and checkpoints that are not on a local disk are written
    as ever. In a JVM that was started without the jar (`spark-submit`, a notebook) all that needs it is left out.
    """
    if (installed := jvm.installed_spark()).startswith(("2.", "3.")):
        raise SettingError("spark", f"Spark {installed}", "Spark 4.0 or later")
    given = settings(builder)
    jar = not jvm_is_up() or jvm.in_jvm(running_jvm())
    for key, value in profile(rows_per_batch).items():
        if key not in given and (jar or key not in NEED_JAR):
            builder = builder.config(key, value)
    if not jar:
        aloud(
            f"this JVM was started without Headway's jar for Spark {jvm.installed_spark()}, so control rows come from a "
            "Python process per query; `spark-submit --jars $(headway jar)` is faster"
        )
        return builder
    with_jar(JAR)
    for key, ours in ((JARS, str(JAR)), ("spark.sql.extensions", EXTENSIONS)):
        theirs = [item for item in given.get(key, "").split(",") if item and not _is_ours(item)]
        builder = builder.config(key, ",".join([*theirs, ours]))
    return builder


def _is_ours(item: str) -> bool:
    return item == EXTENSIONS or item.rpartition("/")[2] in (jvm.NEWEST_JAR.name, jvm.JAR_4_0.name)


def java_problem() -> str | None:
    """What is wrong with this machine's Java, in one line; None if nothing is."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not java or not os.path.exists(java):
        return "no Java found: install Java 17 or later and put it on PATH, or set JAVA_HOME"
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    digits = said.partition('version "')[2].partition('"')[0].split(".")[0]
    if not digits.isdigit() or int(digits) < 17:
        return f"Java {digits or 'of unknown version'} found at {java}: Spark 4 needs 17 or later"
    return None


def _worker_python() -> str:
    """A Python for Spark's local workers that starts three times as fast.

    Spark puts its own pyspark.zip before everything else on a worker's path, and modules in a zip are compiled anew at
    every start: 0.66 s against 0.22 s of processor time, for each source of each query. The installed pyspark is the same.
    """
    launcher = Path(tempfile.mkdtemp(prefix=_LAUNCHER)) / "python3"
    home = Path(__file__).parents[2]  # our daemon is there; where it is installed that is on the path anyway, in its place
    paths = [os.environ.get("PYTHONPATH"), None if home.name.endswith("-packages") else str(home)]
    path = shlex.quote(os.pathsep.join(filter(None, paths)))
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {shlex.quote(sys.executable)} "$@"\n')
    launcher.chmod(0o700)
    atexit.register(shutil.rmtree, launcher.parent, ignore_errors=True)
    return str(launcher)


def session(
    app: str = "headway",
    *,
    cores: int = 2,
    memory: str = "4g",
    rows_per_batch: int = 1_000,
    kafka: bool = False,
    **conf: str,
) -> Any:
    """A local Spark session for embedded use: `conf` adds settings, with `__` for the dots; `kafka` Spark's connector."""
    if problem := java_problem():
        raise HeadwayError(problem)
    from pyspark.sql import SparkSession

    # Spark starts `python3` from PATH for its workers, which need not be the Python that has pyspark and pyarrow.
    if "PYSPARK_PYTHON" not in os.environ:
        os.environ["PYSPARK_PYTHON"] = _worker_python()
    builder: Any = SparkSession.builder.master(f"local[{cores}]").appName(app).config("spark.driver.memory", memory)
    if _LAUNCHER in os.environ["PYSPARK_PYTHON"]:  # another Python need not have Headway
        builder = builder.config("spark.python.daemon.module", "headway.spark.daemon")
    for key, value in _LOCAL.items():
        builder = builder.config(key, value)
    if kafka:
        builder = builder.config("spark.jars", ",".join(map(str, fetched(CONNECTOR))))
    builder = tune(builder, rows_per_batch=rows_per_batch)
    for key, value in conf.items():
        builder = builder.config(key.replace("__", "."), value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    if kafka and not _has_kafka(spark):
        raise HeadwayError(
            "this process has a JVM already, without Kafka's connector: its first session must have kafka=True"
        )
    return spark


def _has_kafka(spark: Any) -> bool:
    """A JVM's classes are settled when it starts; later sessions of the process share it."""
    from py4j.java_gateway import JavaClass

    return isinstance(spark._jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider, JavaClass)


def plain(app: str = "spark", *, cores: int = 2, memory: str = "4g") -> Any:
    """A local session as Spark comes, with nothing of ours but a driver's memory: to compare with."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.master(f"local[{cores}]").appName(app)
    return builder.config("spark.driver.memory", memory).config("spark.ui.enabled", "false").getOrCreate()
