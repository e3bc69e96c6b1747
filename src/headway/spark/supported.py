"""Which sessions we can work with."""

from typing import Any

from headway.errors import SettingError

OLDEST_SPARK = 4


def supported(spark: Any) -> None:
    """One line for sessions that we cannot work with, before anything fails deep inside."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        want = "a classic session: Headway decides inside the driver, so run it there (spark-submit), not over Spark Connect"
        raise SettingError("spark", "a Spark Connect session", want)
    if int(str(spark.version).partition(".")[0]) < OLDEST_SPARK:
        raise SettingError("spark", f"Spark {spark.version}", f"Spark {OLDEST_SPARK}.0 or later")
