"""From a decision to a record: who moves, who stays, and when another plan begins."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.fleet.node.wire import HostedQuery
from headway.model.adaptation import Degrade, Keep, Reassign, Replan
from headway.model.piece import Channel, Piece
from headway.model.time import EventMs, WallMs
from headway.wan.control.actuator import AreaActuator
from headway.wan.control.book import AreaBook
from headway.wan.control.changes import as_it_stands, can_move, generation, moment_for, moved, next_life
from headway.wan.control.counts import RowCounts
from headway.wan.control.record import RecordFile
from headway.wan.job import GeoJob
from headway.wan.plan import GeoQuery, GeoSource, MergedValue
from headway.wan.site_file import ends_of, set_end
from wan.area_records import COUNT, NAMES, SITES, deployed, plans, running

rows_of_tasks = st.tuples(*[st.integers(0, 2)] * 3).filter(any)


@given(before=rows_of_tasks, after=rows_of_tasks)
def test_no_more_pieces_move_than_must(before: tuple[int, ...], after: tuple[int, ...]) -> None:
    plan = plans()[0]
    record = running(plan, before)
    decided = Reassign("combine-all", deployed(plan, after), "the test says so")
    assert can_move(record, plan, decided) == (sum(before) == sum(after))
    if sum(before) != sum(after):
        return
    found = moved(record, plan, decided.deployed, SITES).current
    going = [placed for placed in found.pieces if placed.moving]
    assert len(going) == sum(max(0, a - b) for a, b in zip(after, before, strict=True))
    at = [placed.now.site for placed in found.pieces if placed.piece.stages == ("combine-all",)]
    assert sorted(at) == sorted(name for name, n in zip(NAMES, after, strict=True) for _ in range(n))
    assert all(
        placed.before == was.now for placed, was in zip(found.pieces, record.current.pieces, strict=True) if placed.moving
    )


def test_without_state_any_number_of_tasks_is_a_move() -> None:
    (plan,) = plans(stateless=True)
    record = running(plan)
    decided = Reassign("union", deployed(plan, (1, 1, 0)), "the test says so")
    assert can_move(record, plan, decided)
    at = [placed.now.site for placed in moved(record, plan, decided.deployed, SITES).current.pieces]
    assert sorted(at[3:6]) == ["frankfurt", "frankfurt", "ohio"], "three sources, over two sites in turn"


def test_another_plan_is_another_generation() -> None:
    plan, other = plans()[:2]
    record = running(plan)
    assert not can_move(record, plan, Replan(other, deployed(other, (0, 1, 0)), "the test says so"))
    made = generation("q", 2, other, deployed(other, (0, 1, 0)), SITES, EventMs(20_000))
    assert {placed.piece.since for placed in made.pieces} == {20_000} and not any(p.begun for p in made.pieces)
    assert record.with_plan(made).retiring == record.plans


def test_a_piece_that_came_home_is_where_it_is_said_to_be() -> None:
    plan = plans()[0]
    record = moved(running(plan), plan, deployed(plan, (0, 0, 1)), SITES)
    placed = next(one for one in record.current.pieces if one.moving)
    home = next_life(placed, SITES["ohio"])
    assert home.now.folder == f"/data/ohio/checkpoints/{home.name}/3" and home.before is not None and not home.moving
    found = as_it_stands(record.with_plan(record.current.with_piece(replace(home, begun=True))), plan)
    assert found.current.deployed == deployed(plan, (0, 1, 0))
    assert as_it_stands(running(plan), plan) == running(plan)


@pytest.mark.parametrize(
    ("complete", "now", "at"), [([], 61_000, 80_000), ([EventMs(12_000), EventMs(19_999)], 90_000, 30_000)]
)
def test_a_plan_begins_at_the_end_of_a_window_that_nobody_has_put_out(complete: list[EventMs], now: int, at: int) -> None:
    assert moment_for(complete, now, 10_000, 10_000) == at


def job() -> GeoJob:
    last = replace(COUNT, values=(MergedValue("n", "1"),))
    sources = tuple(GeoSource(f"in-{name}", name) for name in NAMES)
    return GeoJob(GeoQuery("q", sources, last=last, sink_site="ohio"), "country string", "at", lambda name: lambda *_: None)


def actuator(folder: Path) -> tuple[AreaActuator, AreaBook]:
    book = AreaBook(RecordFile(folder / "record.json"), running(job().plans[0]))
    return AreaActuator(job(), SITES, folder / "ends.json", book, lambda: {}), book


def test_the_end_of_the_old_plan_is_said_before_there_is_a_new_one(tmp_path: Path) -> None:
    acts, book = actuator(tmp_path)
    other = job().plans[1]
    said = acts.act(Replan(other, deployed(other, (0, 1, 0)), "the test says so"), WallMs(61_000))
    assert said == "begun: generation 2 goes on from 80000 of the stream, where generation 1 ends"
    assert ends_of(tmp_path / "ends.json") == {1: 80_000} and book.record.current.since == 80_000
    assert acts.past[0].technique == "re-plan"
    acts.mend()
    assert len(book.record.plans) == 2


def test_a_plan_whose_end_was_said_by_a_controller_that_is_no_more_is_gone_on_with(tmp_path: Path) -> None:
    acts, book = actuator(tmp_path)
    set_end(tmp_path / "ends.json", 1, EventMs(50_000))
    acts.mend()
    assert (book.record.current.number, book.record.current.since) == (2, 50_000)
    assert book.record.current.plan == book.record.retiring[0].plan
    again = AreaBook(RecordFile(tmp_path / "record.json"), running(job().plans[0]))
    assert again.found and again.record == book.record


def test_what_needs_nothing_to_be_done_changes_nothing(tmp_path: Path) -> None:
    acts, book = actuator(tmp_path)
    before = book.record
    assert acts.act(Keep("all is well"), WallMs(1)) == "nothing to do"
    assert acts.act(Degrade(1_000, "late"), WallMs(1)) == "not done: rows are not dropped here"
    plan = job().plans[0]
    moves = acts.act(Reassign("combine-all", deployed(plan, (1, 0, 0)), "the test says so"), WallMs(1))
    assert moves == "begun: q-g1-combine-all-0 moves" and book.record != before


IN = Channel("t", "here", "w")
READER, WRITER = Piece("r", "p", 1, "here", ("all",), reads=(IN,)), Piece("w", "p", 1, "here", ("src",), writes=(IN,))


def life(name: str, epoch: int, rows: int, watermark: int | None = None) -> HostedQuery:
    mark = None if watermark is None else EventMs(watermark)
    return HostedQuery(name, epoch, "at the gate", WallMs(0), rows=rows, watermark=mark)


def test_rows_are_counted_over_all_lives_of_a_piece() -> None:
    counts = RowCounts()
    for query in (life("w", 1, 100), life("w", 1, 250), life("w", 2, 30), life("w", 1, 260)):
        counts.saw(query)
    assert counts.sample(0, (WRITER, READER), {}, {}).read == {"w": 280}, "the first life is over, and says nothing new"


def test_what_was_read_between_a_look_and_the_end_of_a_life_is_found_out_by_the_watermark() -> None:
    counts = RowCounts()
    counts.saw(life("r", 1, 100, 1_000))
    assert counts.sample(0, (READER,), {"t": 100}, {"t": EventMs(1_000)}).read == {"r": 100}
    counts.sample(1, (READER,), {"t": 180}, {"t": EventMs(2_000)})
    counts.saw(life("r", 2, 5, 2_000))
    found = counts.sample(2, (READER,), {"t": 200}, {"t": EventMs(2_000)})
    assert found.read == {"r": 180} and counts.watermark("r") == 2_000
    counts.saw(life("r", 2, 90, 2_000))
    assert counts.sample(3, (READER,), {"t": 200}, {"t": EventMs(2_000)}).read == {"r": 200}, "never more than there are"
