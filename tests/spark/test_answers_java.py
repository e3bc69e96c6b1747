"""Answers from a sample as the JVM works them out: held to the same golden vectors as those in Python."""

from typing import Any

import pytest

from golden.answers import VECTORS, Vector
from headway.estimate.bounds import Answer, Sums
from headway.model.offset import ControlOffset
from headway.spark.channel.offset_text import text_of

pytestmark = pytest.mark.spark


def sampling(spark: Any, vector: Vector) -> Any:
    """The JVM's own, as an offset with these figures makes it. The rule that does so live is not public."""
    jvm = spark._jvm
    offset = jvm.headway.ControlOffset.of(text_of(ControlOffset(1, 1_000, True, vector.sampled)))
    types = spark.sparkContext._gateway.new_array(jvm.java.lang.Class, 1)
    types[0] = offset.getClass()
    arguments = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)
    arguments[0] = offset
    made = offset.getClass().getClassLoader().loadClass("headway.Sampling").getDeclaredMethod("of", types)
    made.setAccessible(True)
    return made.invoke(None, arguments)


def answered(spark: Any, vector: Vector) -> Answer:
    sums: Sums = vector.sums
    ours = sampling(spark, vector)
    if vector.kind == "quantile":
        values = spark._jvm.java.util.ArrayList()
        for value in vector.percentiles:
            values.add(value)
        percentiles = spark._jvm.org.apache.spark.sql.catalyst.util.GenericArrayData(values.toArray())
        row = ours.quantile(vector.share, sums.n, sums.u, percentiles)
    else:
        products = (sums.u, sums.uu, sums.uy, sums.uyy, sums.uyyy, sums.uuy, sums.uuyy)
        row = getattr(ours, vector.kind)(sums.n, *products)
    read = (row.getDouble, row.getDouble, row.getDouble, row.getLong, row.getDouble, row.getBoolean)
    figures: list[Any] = [None if row.isNullAt(i) else get(i) for i, get in enumerate(read)]
    return Answer(*figures)


@pytest.mark.parametrize("vector", VECTORS.values(), ids=VECTORS.keys())
def test_the_jvm_answers_what_the_golden_file_says(spark: Any, vector: Vector) -> None:
    found = answered(spark, vector)
    assert vector.is_said_by(found), f"{found}, not {vector.says}"
