"""The slack gate over arrays, against the same gate tuple by tuple."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.sim.gates import Tuples, VirtualGate, no_tuples
from tried import tried

Row = tuple[float, float, int]  # event time, when it comes in, source


def tuples(rows: Sequence[Row]) -> Tuples:
    ts, at, source = (np.array(c) for c in zip(*rows, strict=True)) if rows else (np.empty(0),) * 3
    number = np.arange(len(rows))
    return Tuples(ts.astype(float), at.astype(float), source.astype(np.int64), number, at.astype(float))


def read(gate: VirtualGate, start: float, end: float, slt: float, rows: Sequence[Row]) -> list[tuple[float, float, bool]]:
    out, when, slack = gate.step(start, end, slt, tuples(rows))
    return list(zip(out.ts.tolist(), when.tolist(), slack.tolist(), strict=True))


def test_a_tuple_is_ready_when_every_stream_has_come_to_it() -> None:
    rows = [(1, 10, 0), (2, 20, 0), (3, 30, 0), (2, 40, 1)]
    assert read(VirtualGate(2), 0, 100, 1000, rows) == [(1, 40, False), (2, 40, False), (2, 40, False)]


def test_a_tuple_is_slack_ready_when_the_newest_is_more_than_the_threshold_ahead() -> None:
    gate = VirtualGate(2)
    assert read(gate, 0, 100, 5, [(0, 0, 1), (1, 10, 0), (6, 20, 0), (7, 30, 0)]) == [(0, 10, False), (1, 30, True)]
    assert gate.waiting.ts.tolist() == [6, 7]


def test_a_late_one_is_let_through_at_once_even_under_a_longer_threshold() -> None:
    gate = VirtualGate(2)
    read(gate, 0, 100, 5, [(0, 0, 1), (1, 10, 0), (50, 20, 0), (60, 30, 0)])
    assert gate.read_upto == 50
    assert read(gate, 100, 200, 1000, [(3, 110, 1), (4, 120, 1)]) == [(3, 110, False), (4, 120, False)]
    assert gate.waiting.ts.tolist() == [60]


def test_a_cut_lets_out_at_once_what_has_waited_too_long() -> None:
    gate = VirtualGate(2)
    assert read(gate, 0, 100, 1000, [(0, 0, 1), (0, 0, 0), (10, 10, 0), (90, 90, 0)]) == [(0, 0, False), (0, 0, False)]
    assert gate.gap_ms == 90 and gate.oldest_at == 10
    assert read(gate, 100, 200, 50, []) == [(10, 100, True)]


def test_nothing_comes_of_nothing() -> None:
    gate = VirtualGate(2)
    out, when, slack = gate.step(0, 10, 0, no_tuples())
    assert len(out) == len(when) == len(slack) == 0 and gate.gap_ms == 0 and gate.oldest_at == np.inf


def one_by_one(sources: int, rows: Sequence[Row], slt: Sequence[float], step: float) -> list[tuple[int, float, bool]]:
    """The paper's Algorithms 2 and 3 with one reader, asked after each arrival and at each change of the threshold."""
    frontier, last = [-np.inf] * sources, -np.inf
    waiting, out = list[tuple[float, int, int]](), list[tuple[int, float, bool]]()
    moments = sorted([(at, 1, n) for n, (_, at, _) in enumerate(rows)] + [(k * step, 0, k) for k in range(len(slt))])
    limit = slt[0]
    for at, kind, n in moments:
        if kind == 0:
            limit = slt[n]
        else:
            ts, _, source = rows[n]
            frontier[source] = ts
            waiting.append((ts, source, n))
        waiting.sort()
        while waiting:
            ts, _, first = waiting[0]
            ready = ts <= min(frontier)
            if not (ready or ts < last or max(frontier) - ts > limit):
                break
            waiting.pop(0)
            last = max(last, ts)
            out.append((first, at, not ready))
    return out


@st.composite
def inputs(draw: st.DrawFn) -> tuple[int, list[Row], list[float]]:
    sources = draw(st.integers(2, 3))
    rows: list[Row] = []
    moment = 0.0
    ts = [0.0] * sources
    for _ in range(draw(st.integers(0, 40))):
        moment += draw(st.sampled_from([0.25, 0.5, 1.0, 2.0]))  # no two at once: their order would be anybody's
        source = draw(st.integers(0, sources - 1))
        ts[source] += draw(st.sampled_from([0.5, 1.0, 3.0, 7.0]))
        rows.append((ts[source], moment, source))
    slts = draw(st.lists(st.sampled_from([0.0, 2.0, 5.0, 20.0]), min_size=9, max_size=9))
    return sources, rows, slts


@tried(100)
@given(given_=inputs())
def test_it_reads_what_the_gate_of_the_paper_reads(given_: tuple[int, list[Row], list[float]]) -> None:
    sources, rows, slts = given_
    gate, step, got = VirtualGate(sources), 10.1, list[tuple[int, float, bool]]()
    every = tuples(rows)
    for k, slt in enumerate(slts):
        came = every.take((every.at >= k * step) & (every.at < (k + 1) * step))
        out, when, slack = gate.step(k * step, (k + 1) * step, slt, came)
        got += zip(out.origin.tolist(), when.tolist(), slack.tolist(), strict=True)
    wanted = one_by_one(sources, rows, slts, step)
    assert sorted(got) == sorted(wanted)


@tried(60)
@given(given_=inputs())
def test_nobody_is_slack_ready_while_the_streams_are_within_the_threshold(
    given_: tuple[int, list[Row], list[float]],
) -> None:
    sources, rows, _ = given_
    gate = VirtualGate(sources)
    out, _, slack = gate.step(0, 1e9, 1e9, tuples(rows))
    assert not slack.any() and (np.diff(out.ts) >= 0).all()
