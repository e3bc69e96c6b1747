"""Making our Python data sources known to a Spark session."""

import sys
from typing import Any

from pyspark import cloudpickle
from pyspark.errors import AnalysisException


def register(spark: Any, source: type[Any]) -> None:
    """Make a data source known, pickled by value: the processes that run it need not be able to import headway."""
    cloudpickle.register_pickle_by_value(sys.modules[source.__module__])  # type: ignore[no-untyped-call]
    try:
        spark.dataSource.register(source)
    except AnalysisException as error:
        # A session made by newSession() knows what its parent knew, and refuses to be told again.
        if error.getCondition() != "DATA_SOURCE_ALREADY_EXISTS":
            raise
