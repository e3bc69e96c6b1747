"""Making our Python data sources known to a Spark session."""

import sys
from typing import Any

from pyspark import cloudpickle


def register(spark: Any, source: type[Any]) -> None:
    """Make a data source known, pickled by value: the processes that run it need not be able to import headway."""
    cloudpickle.register_pickle_by_value(sys.modules[source.__module__])  # type: ignore[no-untyped-call]
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
