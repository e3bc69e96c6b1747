"""Making Python code known to Spark: our data sources to a session, ours and a user's pipeline file to the workers."""

import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from pyspark import cloudpickle


def carry(module: str) -> None:
    """Send the code of a module along with what uses it, so that Spark's worker processes need not import it."""
    cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]


def ship(context: Any) -> None:
    """Send our own code to the executors of a cluster, once: the Python there need not have Headway, nor this version of it.

    For what is pickled by name, as functions of ours are. In local mode the workers have what we have.
    """
    if context.master.startswith("local"):
        return
    # Executors may come at any time, and fetch it then: it stays as long as the context does.
    code = Path(context._temp_dir) / "headway-code.zip"
    if not code.exists():
        package = Path(__file__).parents[1]
        with ZipFile(code, "w") as packed:
            for file in sorted(package.rglob("*.py")):
                packed.write(file, file.relative_to(package.parent))
        context.addPyFile(str(code))


def register(spark: Any, source: type[Any]) -> None:
    """Make a data source known to a session."""
    carry(source.__module__)
    # Spark looks for a clash of names in the session that is active, which need not be this one: a session made by
    # newSession() would be refused what its parent has, and yet not have it.
    sessions = spark._jvm.org.apache.spark.sql.classic.SparkSession
    active = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        spark.dataSource.register(source)
    finally:
        if active.isDefined():
            sessions.setActiveSession(active.get())
