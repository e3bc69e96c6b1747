"""Delta Lake for the Spark that is installed: its jars by coordinates, and what a session needs for its tables."""

from headway.errors import SettingError
from headway.kafka.jars import Bundle

VERSION = "4.4.0"
# Each Delta jar is built for one minor version of Spark, and fails on another. These were tried: docs/tables.md.
SPARKS = ("4.2",)
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # A table's log is read by so many tasks at every commit. Fifty, as Delta has it, are for tables of millions of files.
    "spark.databricks.delta.snapshotPartitions": "1",
}


def bundle(spark: str | None = None) -> Bundle:
    """Delta's jars for Spark of version `spark`, the installed one unless told; what else they need, Spark has."""
    spark = spark or _installed()
    minor = ".".join(spark.split(".")[:2])
    if minor not in SPARKS:
        want = f"Spark {' or '.join(SPARKS)}, with which Delta Lake {VERSION} was tried, and not {spark} (docs/tables.md)"
        raise SettingError("delta", True, want)
    kernel = ("delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog")
    parts = (f"delta-spark_{minor}_2.13", "delta-storage", *kernel)
    return Bundle(f"delta-{VERSION}-spark-{minor}", tuple(f"io.delta:{part}:{VERSION}" for part in parts), transitive=False)


def _installed() -> str:
    import pyspark

    return str(pyspark.__version__)
