"""Columns kept up to date row by row say the same as columns worked out anew."""

from dataclasses import fields, replace
from math import inf

import numpy as np
import pytest
from hypothesis import given

from headway.loop import views
from headway.model.columns import Columns
from headway.model.deadline import window
from headway.model.view import Snapshot
from headway.policy.order import Klink
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld
from model.making import query, snapshot, snapshots


def same(one: Columns, other: Columns) -> bool:
    return all(
        np.array_equal(getattr(one, f.name), getattr(other, f.name), equal_nan=getattr(one, f.name).dtype == float)
        for f in fields(Columns)
    )


@given(snap=snapshots())
def test_a_row_says_what_its_view_says(snap: Snapshot) -> None:
    seen = snap.columns
    assert [bool(x) for x in seen.waiting] == [q in snap.waiting for q in snap.queries]
    assert snap.busy == sum(q.running for q in snap.queries)
    assert list(seen.due) == [-inf if q.due is None else q.due for q in snap.queries]


@pytest.mark.parametrize("few", [0, 3, 32])
def test_what_the_controller_keeps_is_what_it_would_work_out(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to so many queries it keeps no columns; here they come and go about that number."""
    monkeypatch.setattr(views, "FEW", few)
    world = VirtualWorld(Klink(), slots=2)
    for i in range(5):
        world.add(VirtualQuery(f"q{i}", window("3 s"), VirtualInput(until_ms=9_000 + 4_000 * i), starts_ms=700 * i))
    told: list[tuple[int, int]] = []

    def look() -> None:
        known = world.controller.queries.values()
        told.append((world.controller.roster.views.running, sum(q.view().running for q in known)))

    for ms in range(0, 30_000, 170):
        world.at(ms, look)
    world.at(12_000, lambda: world.stop("q1"))
    world.at(15_000, lambda: world.stop("q3"))
    world.run(30_000)
    assert len(world.notebook.entries) > 20
    assert {running for running, _ in told} >= {0, 1, 2} and all(running == true for running, true in told)
    for entry in world.notebook.entries:
        assert same(entry.seen.columns, Columns.of(entry.seen.queries))


def test_a_changed_snapshot_does_not_keep_old_columns() -> None:
    snap = snapshot(query("a", due_in=5))
    assert snap.columns.due[0] != replace(snap, queries=(query("a", due_in=900),)).columns.due[0]


def test_a_copy_stays_as_it_was() -> None:
    seen = Columns.of((query("a", due_in=5),))
    copied = seen.copy()
    seen.put(0, query("a", due_in=900))
    assert not same(seen, copied)
