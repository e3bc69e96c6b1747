"""The measurements of the gates: what they do is right; how long it takes is for the ledger."""

from dataclasses import asdict

import numpy as np
import pytest

from headway.merge.rows import Flag, Row, Rows
from headway_lab.experiments.gate.run import (
    CALLS,
    GATES,
    Calls,
    JoinCase,
    ReadCase,
    WindowJoin,
    join,
    read,
    read_in_turns,
    rounds,
    workers_text,
)
from headway_lab.harness.claims import load
from headway_lab.harness.metrics import METRICS

SMALL = JoinCase(tuples=1_500, areas=10, window_ms=200, round=100)


def test_rounds_are_the_two_streams_cut_up() -> None:
    parts = list(rounds(seed=3, tuples=2_000, size=300))
    assert len(parts) == 7
    for writer in (0, 1):
        stamps = np.concatenate([one[writer][0] for one in parts])
        assert len(stamps) == 2_000 and (np.diff(stamps) >= 0).all()
    again = list(rounds(seed=3, tuples=2_000, size=300))
    assert all((a[0][1] == b[0][1]).all() for a, b in zip(parts, again, strict=True))


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("name", GATES)
def test_every_gate_is_read_to_its_end_by_all_readers(name: str, calls: Calls) -> None:
    figures = read(name, ReadCase(3, calls, tuples=600, round=200), seed=1)
    assert figures.keys() == {"read_ns", "cpu_ns", "insert_ns", "tuples_per_s"}
    assert all(figure > 0 for figure in figures.values())


def test_gates_take_turns() -> None:
    found = read_in_turns(["slack-gate", "k-slack"], ReadCase(1, "many", tuples=300, round=100), seed=1, turns=2)
    assert set(found) == {"slack-gate", "k-slack"}


def test_the_join_compares_what_shares_an_area_and_a_window() -> None:
    rows = [
        Row(0, 0, 0, 3_990, Flag.READY),
        Row(10, 1, 0, 3_970, Flag.READY),  # the same area, and over the limit together
        Row(20, 1, 1, 4_990, Flag.READY),  # another area
        Row(150, 0, 1, 3_100, Flag.READY),  # compared with the one at 10, but no event
        Row(211, 0, 2, 3_999, Flag.READY),  # the one at 10 has left the window
    ]
    seen = WindowJoin(SMALL)
    seen.feed(Rows.of(rows))
    assert (seen.tuples, seen.comparisons, seen.events) == (5, 2, 1)


def test_however_the_areas_are_parted_the_results_are_the_same() -> None:
    whole, threads = join("thread", 1, SMALL, seed=1), join("thread", 3, SMALL, seed=1)
    processes = join("process", 2, SMALL, seed=1)
    assert whole["comparisons"] == threads["comparisons"] == processes["comparisons"] > 10_000
    assert whole["events"] == threads["events"] == processes["events"] > 0


def test_ways_have_names() -> None:
    assert [workers_text("process", 1), workers_text("process", 2), workers_text("thread", 4)] == [
        "1 process",
        "2 processes",
        "4 threads",
    ]


def test_the_claims_name_what_is_measured() -> None:
    """Each claim's settings, gates and fields are such as the benchmark writes down."""
    claims = [claim for claim in load() if claim.experiment.startswith("gate")]
    assert [claim.id for claim in claims] == ["S1", "S1a", "S1b", "S1c", "S1d", "S2"]
    figures = {
        "gate-read": read("slack-gate", ReadCase(1, "many", tuples=100, round=50), 1),
        "gate-join": join("thread", 1, SMALL, 1),
    }
    settings = {"gate-read": asdict(ReadCase(8, "one")), "gate-join": asdict(JoinCase())}
    policies = {"gate-read": set(GATES), "gate-join": {"1 process", "2 processes"}}
    for claim in claims:
        assert claim.metric in METRICS and {claim.candidate, *claim.baselines} <= policies[claim.experiment]
        assert claim.field in figures[claim.experiment]
        for at in claim.at:
            assert at["tuples"] == settings[claim.experiment]["tuples"] and at.keys() <= settings[claim.experiment].keys()
