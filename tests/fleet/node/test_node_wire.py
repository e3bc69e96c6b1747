"""What is said on the wire is understood as it was meant, and nothing else is."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.fleet.node.text import Malformed, written
from headway.fleet.node.wire import (
    ACTIONS,
    SCHEMA,
    CommandReceipt,
    HostedQuery,
    MachineFigures,
    NodeCommand,
    NodeStatus,
    OtherSchema,
    command_in,
    receipt_in,
    status_in,
)
from headway.model.experience import CostSums, Experience, InputExperience, TailExperience

numbers = st.floats(allow_nan=False, allow_infinity=False)
whole = st.integers(0, 2**53)
pairs = st.lists(st.tuples(numbers, numbers), max_size=3).map(tuple)
tails = st.builds(TailExperience, whole, pairs, numbers)
costs = st.builds(CostSums, numbers, numbers, numbers, numbers, numbers)
several = st.lists(numbers, max_size=3).map(tuple)
inputs = st.builds(
    InputExperience, numbers, numbers, several, several, st.lists(pairs, max_size=2).map(tuple),
    st.lists(tails, max_size=2).map(tuple),
)  # fmt: skip
experiences = st.builds(Experience, costs, numbers, st.lists(inputs, max_size=2).map(tuple))
commands = st.builds(
    NodeCommand, st.text(), st.sampled_from(ACTIONS), st.text(), whole, file=st.none() | st.text(),
    origins=st.lists(st.text(), max_size=3).map(tuple), force=st.booleans(), batch=st.none() | whole,
    experience=st.none() | experiences,
)  # fmt: skip
receipts = st.builds(
    CommandReceipt, st.text(), st.sampled_from(ACTIONS), st.text(), whole, st.booleans(), st.text(), whole,
    parts_ms=st.none() | st.dictionaries(st.text(), numbers, max_size=3), fenced=st.none() | st.booleans(),
    experience=st.none() | experiences,
)  # fmt: skip
queries = st.builds(
    HostedQuery, st.text(), whole, st.sampled_from(["prepared", "at the gate", "drained"]), whole,
    rates=several, backlog=st.none() | numbers, due=st.none() | whole,
)  # fmt: skip
machines = st.builds(MachineFigures, numbers, whole, numbers, numbers, numbers, numbers)
statuses = st.builds(
    NodeStatus, st.text(), st.text(), st.text(), whole, whole, machines, st.lists(queries, max_size=3).map(tuple)
)


@given(command=commands, receipt=receipts, status=statuses)
def test_what_is_written_is_read_as_the_same(command: NodeCommand, receipt: CommandReceipt, status: NodeStatus) -> None:
    assert command_in(written(command).encode()) == command
    assert receipt_in(written(receipt).encode()) == receipt
    assert status_in(written(status).encode()) == status


PLAIN: dict[str, Any] = {"request": "r1", "action": "drain", "query": "counts", "epoch": 3, "schema": SCHEMA}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"epoch": "3"}, "NodeCommand.epoch = '3': expected a whole number"),
        ({"epoch": True}, "NodeCommand.epoch = True: expected a whole number"),
        ({"force": 1}, "NodeCommand.force = 1: expected true or false"),
        ({"action": "destroy"}, "NodeCommand.action = 'destroy': expected one of prepare, take, start"),
        ({"query": None}, "NodeCommand.query = None: expected a text"),
        ({"origins": "a"}, "NodeCommand.origins = 'a': expected a list"),
        ({"origins": [1]}, "NodeCommand.origins[0] = 1: expected a text"),
        ({"experience": {}}, "NodeCommand.experience.cost is missing"),
        ({"extra": 1}, "NodeCommand.extra is no field that we know"),
    ],
)
def test_a_field_that_is_not_as_declared_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(Malformed) as caught:
        command_in(json.dumps(PLAIN | change).encode())
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"[]", b"7", b"{", b"[" * 100_000])
def test_what_is_no_object_is_refused_in_one_line(text: bytes) -> None:
    with pytest.raises(Malformed, match=r"\ANodeCommand: expected [a-zA-Z ]+\Z"):
        command_in(text)


def test_what_is_missing_is_named() -> None:
    for name in ("request", "epoch", "schema"):
        body = {key: value for key, value in PLAIN.items() if key != name}
        with pytest.raises(Malformed, match=f"NodeCommand.{name} is missing"):
            command_in(json.dumps(body).encode())


def test_another_schema_is_refused_before_its_fields_are_looked_at() -> None:
    with pytest.raises(OtherSchema, match="expected 1"):
        command_in(json.dumps({"schema": 2, "what": "nobody knows"}).encode())


def test_what_was_got_is_shown_and_not_all_of_it() -> None:
    with pytest.raises(Malformed) as caught:
        command_in(json.dumps(PLAIN | {"epoch": "x" * 100_000}).encode())
    assert len(str(caught.value)) < 200
