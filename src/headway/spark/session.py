"""A Spark session that suits many small streaming queries on one machine."""

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError, SettingError, aloud
from headway.java import java_problem
from headway.kafka.jars import connector, fetched
from headway.spark import delta as delta_
from headway.spark import jvm
from headway.spark.jvm import EXTENSIONS, JAR
from headway.spark.pages import PAGE, page_size
from headway.spark.profile import ROWS, USUAL_ROWS, check_rows
from headway.spark.user_settings import JARS, jvm_is_up, running_jvm, settings, with_jar

_LAUNCHER = "headway-python-"
_LOCAL = {
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.log.level": "ERROR",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.streaming.metricsEnabled": "false",
}


def tune(builder: Any, *, rows_per_batch: int = USUAL_ROWS) -> Any:
    """A `SparkSession.builder` with Headway's jar; `rows_per_batch` is how many rows a usual batch has.

    What you have set yourself stays, on the builder, on the command line or in Spark's files; jars and extensions are put
    beside yours. The settings for many queries of small batches are each query's own, given when `rt.start` starts it
    (`profile.py`): this session's other work is run as ever. On a cluster too: the jar goes to the executors, and
    checkpoints that are not on a local disk are written as ever. In a JVM that was started without the jar
    (`spark-submit`, a notebook) all that needs it is left out.
    """
    check_rows(rows_per_batch)
    if (installed := jvm.installed_spark()).startswith(("2.", "3.")):
        raise SettingError("spark", f"Spark {installed}", "Spark 4.0 or later")
    current = settings(builder)
    if not current.get("spark.master", "local").startswith("local") and _LAUNCHER in os.environ.get("PYSPARK_PYTHON", ""):
        del os.environ["PYSPARK_PYTHON"]  # of a local session before this one: executors elsewhere have no such file
    if ROWS not in current:
        builder = builder.config(ROWS, str(rows_per_batch))
    if PAGE not in current:
        builder = builder.config(PAGE, page_size(current))
    if jvm_is_up() and not jvm.in_jvm(running_jvm()):
        aloud(
            f"this JVM was started without Headway's jar for Spark {jvm.installed_spark()}, so control rows come from a "
            "Python process per query; `spark-submit --jars $(headway jar)` is faster"
        )
        return builder
    with_jar(JAR)
    for key, ours in ((JARS, str(JAR)), ("spark.sql.extensions", EXTENSIONS)):
        theirs = [item for item in current.get(key, "").split(",") if item and not _is_ours(item)]
        builder = builder.config(key, ",".join([*theirs, ours]))
    return builder


def _is_ours(item: str) -> bool:
    return item == EXTENSIONS or item.rpartition("/")[2] in (jvm.NEWEST_JAR.name, jvm.JAR_4_0.name)


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
    rows_per_batch: int = USUAL_ROWS,
    kafka: bool = False,
    delta: bool = False,
    jars: Sequence[str | Path] = (),
    **conf: str,
) -> Any:
    """A local Spark session for embedded use: `conf` adds settings, with `__` for the dots.

    `kafka` adds Spark's connector, `delta` Delta Lake and its catalog; their jars are fetched once; `jars` are yours.
    """
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
    if wanted := [*jars, *(connector() if kafka else ()), *(fetched(delta_.bundle()) if delta else ())]:
        builder = builder.config(JARS, ",".join(map(str, wanted)))
    for key, value in delta_.SETTINGS.items() if delta else ():
        builder = builder.config(key, value)
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
    """The class path of a JVM is fixed when it starts; later sessions of the process share it."""
    from py4j.java_gateway import JavaClass

    return isinstance(spark._jvm.org.apache.spark.sql.kafka010.KafkaSourceProvider, JavaClass)


def on(master: str, conf: Mapping[str, str]) -> Any:
    """A tuned session on a given cluster, with these settings: to measure there."""
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder.master(master).appName("headway")
    for key, value in conf.items():
        builder = builder.config(key, value)
    spark = tune(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def plain(app: str = "spark", *, cores: int = 2, memory: str = "4g") -> Any:
    """A local session as Spark comes, with no setting of ours but the driver's memory: to compare with."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder.master(f"local[{cores}]").appName(app)
    return builder.config("spark.driver.memory", memory).config("spark.ui.enabled", "false").getOrCreate()
