"""The control offset's codec in the JVM: held to the same golden vectors as the one in Python."""

from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from golden.offsets import READ, REFUSED, WRITTEN, Vector
from headway.model.offset import ControlOffset, Sampled
from headway.spark.channel.offset_text import text_of

pytestmark = pytest.mark.spark


def seen(java: Any) -> ControlOffset:
    """What the JVM has, as a value of Python's."""
    sampled, told = None, java.sampled()
    if told is not None:
        keys = tuple((entry.getKey(), entry.getValue()) for entry in told.keys().entrySet())
        sampled = Sampled(
            told.share(), told.seen(), told.unsure(), told.z(), told.widest(), told.subMs(), told.everyMs(), told.firstMs(),
            tuple(told.arrived()), keys,
        )  # fmt: skip
    return ControlOffset(java.seq(), java.wm(), java.live(), sampled, java.version())


@pytest.mark.parametrize("vector", WRITTEN.values(), ids=WRITTEN.keys())
def test_the_jvm_reads_and_writes_what_the_golden_file_says(spark: Any, vector: Vector) -> None:
    text, offset = vector
    java = spark._jvm.headway.ControlOffset.of(text)
    assert seen(java) == offset and java.json() == text


@pytest.mark.parametrize("vector", READ.values(), ids=READ.keys())
def test_the_jvm_reads_what_nobody_writes(spark: Any, vector: Vector) -> None:
    text, offset = vector
    java = spark._jvm.headway.ControlOffset.of(text)
    assert seen(java) == offset and java.json() == text_of(offset)


@pytest.mark.parametrize(("text", "says"), REFUSED, ids=[text[:60] for text, _ in REFUSED])
def test_the_jvm_refuses_in_one_line_what_makes_no_sense(spark: Any, text: str, says: str) -> None:
    with pytest.raises(Py4JJavaError) as refusal:
        spark._jvm.headway.ControlOffset.of(text)
    said = refusal.value.java_exception.getMessage()
    assert said.startswith("headway: the checkpoint goes on with ") and says in said and "\n" not in said


@pytest.mark.parametrize("vector", WRITTEN.values(), ids=WRITTEN.keys())
def test_rows_move_the_jvm_s_offset_as_they_move_python_s(spark: Any, vector: Vector) -> None:
    text, offset = vector
    if offset.seq == 2**63 - 1:
        return  # there is none after it
    java = spark._jvm.headway.ControlOffset.of(text)
    for watermark in (None, 1_700_000_009_000, 1_700_000_001_000):
        assert java.byRows(watermark).json() == text_of(offset.by_rows(watermark))
