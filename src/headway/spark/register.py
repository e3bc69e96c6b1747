"""Making Python code known to Spark: our data sources to a session, a user's pipeline file to the workers."""

import sys
from typing import Any

from pyspark import cloudpickle


def carry(module: str) -> None:
    """Send the code of a module along with what uses it: Spark's worker processes need not be able to import it."""
    cloudpickle.register_pickle_by_value(sys.modules[module])  # type: ignore[no-untyped-call]


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
