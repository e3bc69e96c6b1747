"""The control rows as a DataFrame: from the source inside the JVM where the session has the jar, else from Python's."""

from typing import Any

from pyspark.sql import DataFrame

from headway.spark import jvm
from headway.spark.channel.control import CARRIED, FORMAT, SHIFT_MS, ControlSource
from headway.spark.channel.gate import Gate
from headway.spark.register import carry, register

FORMATS = (jvm.CONTROL, FORMAT)


def control_rows(spark: Any, gate: Gate, by_jar: bool) -> DataFrame:
    """Their reader calls this gate."""
    if by_jar:
        jvm.send(spark)
    else:
        for module in CARRIED:
            carry(module)
        register(spark, ControlSource)
    reader = spark.readStream.format(FORMATS[0] if by_jar else FORMATS[1])
    rows: DataFrame = reader.options(host="127.0.0.1", port=gate.port, secret=gate.secret, shift_ms=SHIFT_MS).load()
    return rows
