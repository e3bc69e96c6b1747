"""What the user, or the house, has set before us: on the builder, on the command line, in Spark's own files.

Under `spark-submit`, and in a notebook, the JVM is up before our first line runs. Its settings are there to be read, and its
class path is settled. Else `pyspark` will start one, with what is in PYSPARK_SUBMIT_ARGS and `spark-defaults.conf`.
"""

import os
import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

JARS = "spark.jars"
_ARGS = "PYSPARK_SUBMIT_ARGS"
_OPTIONS = {
    "--jars": JARS,
    "--master": "spark.master",
    "--driver-memory": "spark.driver.memory",
    "--executor-memory": "spark.executor.memory",
}


def jvm_is_up() -> bool:
    """Whether this process has a JVM already, its own or that of `spark-submit`."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ


def running_jvm() -> Any:
    """The JVM that is up."""
    from pyspark import SparkContext

    SparkContext._ensure_initialized()
    return SparkContext._jvm


def settings(builder: Any) -> dict[str, str]:
    """Everything that is set so far; what is nearest to the user wins."""
    own = {key: str(value) for key, value in getattr(builder, "_options", {}).items()}
    if not jvm_is_up():
        return _defaults() | dict(_of_args(_args())) | own
    from pyspark import SparkConf, SparkContext

    context = SparkContext._active_spark_context
    running_jvm()
    return dict((SparkConf() if context is None else context.getConf()).getAll()) | own


def with_jar(jar: Path) -> None:
    """Add our jar to those on the command line of the JVM that is to come: `--jars` there hides what a builder says."""
    args = _args()
    for n, arg in enumerate(args[:-1]):
        if arg == "--jars" and str(jar) not in args[n + 1].split(","):
            args[n + 1] += f",{jar}"
            os.environ[_ARGS] = shlex.join(args)


def _args() -> list[str]:
    return shlex.split(os.environ.get(_ARGS, ""))


def _of_args(args: list[str]) -> list[tuple[str, str]]:
    found = []
    for arg, value in pairwise(args):
        if arg in ("--conf", "-c") and "=" in value:
            key, _, told = value.partition("=")
            found.append((key, told))
        elif arg in _OPTIONS:
            found.append((_OPTIONS[arg], value))
        elif arg == "--properties-file":
            found += _of_file(Path(value))
    return found


def _defaults() -> dict[str, str]:
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (f"{home}/conf" if home else None)
    return {} if folder is None else dict(_of_file(Path(folder) / "spark-defaults.conf"))


def _of_file(file: Path) -> list[tuple[str, str]]:
    """Java's properties as Spark's files have them: a key, then blanks or `=`, then the rest of the line."""
    if not file.is_file():
        return []
    lines = [line.strip() for line in file.read_text("utf-8").splitlines()]
    pairs = [line.replace("=", " ", 1).split(None, 1) for line in lines if line and not line.startswith("#")]
    return [(pair[0], pair[1].strip()) for pair in pairs if len(pair) == 2]
