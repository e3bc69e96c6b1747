"""The job of `headway doctor --job`: the house's own session, looked at."""

import sys

from pyspark.sql import SparkSession

from headway.spark.checkup import doctor

if __name__ == "__main__":
    spark = SparkSession.builder.getOrCreate()
    found = doctor(spark)
    spark.stop()
    sys.exit(0 if all(check.ok for check in found) else 2)
