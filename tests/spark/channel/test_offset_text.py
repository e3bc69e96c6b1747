"""The control offset's codec in Python: held to the golden vectors, and to checkpoints that there are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from golden.offsets import READ, REFUSED, WRITTEN, Vector
from headway.model.offset import ControlOffset, Sampled
from headway.spark.channel.control import ControlReader
from headway.spark.channel.offset_text import NewerOffset, fields_of, offset_in, offset_of, text_of

LONG = st.integers(-(2**63), 2**63 - 1)
SAMPLED = st.builds(
    Sampled, LONG, LONG, LONG, LONG, LONG, LONG, LONG, LONG, st.lists(LONG).map(tuple),
    st.dictionaries(LONG, LONG).map(lambda keys: tuple(keys.items())),
)  # fmt: skip


@pytest.mark.parametrize("vector", WRITTEN.values(), ids=WRITTEN.keys())
def test_an_offset_and_its_text_are_what_the_golden_file_says(vector: Vector) -> None:
    text, offset = vector
    assert offset_in(text) == offset and text_of(offset) == text


@pytest.mark.parametrize("vector", READ.values(), ids=READ.keys())
def test_a_text_that_nobody_writes_is_read_all_the_same(vector: Vector) -> None:
    assert offset_in(vector[0]) == vector[1]


@pytest.mark.parametrize(("text", "says"), REFUSED, ids=[text[:60] for text, _ in REFUSED])
def test_what_makes_no_sense_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(ValueError) as refusal:
        offset_in(text)
    assert says in str(refusal.value) and "\n" not in str(refusal.value)
    assert isinstance(refusal.value, NewerOffset) == ("this Headway reads versions up to" in str(refusal.value))


@given(st.builds(ControlOffset, LONG, LONG, st.booleans(), st.none() | SAMPLED, st.sampled_from([1, 2])))
def test_every_offset_comes_back_from_its_text(offset: ControlOffset) -> None:
    assert offset_in(text_of(offset)) == offset and offset_of(fields_of(offset)) == offset


def test_the_reader_in_python_refuses_a_checkpoint_of_a_newer_headway_and_says_what_to_do() -> None:
    reader = ControlReader({"host": "127.0.0.1", "port": "9", "secret": ""})
    newer = {"version": 3, "seq": 1, "wm": 0, "live": 0}
    with pytest.raises(RuntimeError, match=r"^headway: the checkpoint goes on with .* of version 3, .*newer one$"):
        reader.read(newer)
    with pytest.raises(RuntimeError, match="version 3"):
        reader.readBetweenOffsets(newer, newer)
