"""A punctuation as the value of a record, and what is refused."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.loop.punctuation_text import UnreadablePunctuation, punctuation_in, punctuation_text
from headway.model.deadline import Grid
from headway.model.punctuation import Punctuation, UpstreamFlow
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView

numbers = st.integers(-(2**62), 2**62)
delays = st.none() | st.builds(DelayView, st.integers(1, 400), *[st.floats(0, 1e9)] * 5)
flows = st.builds(UpstreamFlow, delays, st.lists(st.builds(Grid, st.integers(1, 10**9), numbers)).map(tuple), delays)
punctuations = st.builds(
    Punctuation, st.text(), st.text(), numbers, numbers, st.text(), st.integers(1, 10**6), numbers.map(WallMs),
    st.none() | numbers.map(EventMs), numbers, numbers, flows,
)  # fmt: skip


@given(said=punctuations)
def test_what_is_written_is_what_is_read(said: Punctuation) -> None:
    text = punctuation_text(said)
    assert punctuation_in(text) == said
    assert punctuation_in(text.encode()) == said


def test_a_row_is_no_punctuation() -> None:
    assert punctuation_in('{"version":1}') is None
    assert punctuation_in(b"") is None


def changed(**values: object) -> str:
    plain = Punctuation("a", "l", 1, 1, "p", 1, WallMs(5))
    return "#" + json.dumps(json.loads(punctuation_text(plain)[1:]) | values)


@pytest.mark.parametrize(
    "text",
    [
        "#", "#[]", "#{}", "#{", changed(version=2), changed(batch="1"), changed(batch=True), changed(at=1.5),
        changed(stage=7), changed(partitions=0), changed(complete="now"), changed(flow=3), changed(at=2**70),
        changed(flow={"lag": {"epochs": 1}}),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UnreadablePunctuation) as refused:
        punctuation_in(text)
    assert "\n" not in str(refused.value)


def test_fields_that_are_not_known_are_passed_over() -> None:
    assert punctuation_in(changed(colour="blue")) == punctuation_in(changed())
