"""From plans to streaming queries: what is fused, which topics there are, and that nobody is left out."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError, SettingError
from headway.model.geo import Deployment, GeoPlan
from headway.model.piece import Piece
from headway.model.time import EventMs
from headway.wan.control.record import AreaRecord, PieceLife, PlacedPiece, RecordFile, RunningPlan
from headway.wan.pieces import Generation, pieces_of
from headway.wan.plan import FilterRows, GeoQuery, GeoSource, WindowAggregate, logical_plans
from headway.wan.site_file import SiteFile, ends_of, set_end

SITES = ("frankfurt", "ohio", "tokyo")
COUNT = WindowAggregate(10_000, keys=500, row_bytes=40, state_mb=50, by=("country",))


def query(**more: object) -> GeoQuery:
    sources = tuple(GeoSource(f"in-{site}", site) for site in SITES)
    return GeoQuery("q", sources, **{"last": COUNT, "sink_site": "ohio", **more})  # type: ignore[arg-type]


def deployed(plan: GeoPlan, where: dict[str, tuple[int, ...]]) -> Deployment:
    """Fixed stages where they have to be, others at ohio unless told."""
    rows = []
    for stage in plan.stages:
        fixed = tuple(int(site == (stage.site or "ohio")) for site in SITES)
        rows.append(where.get(stage.name, fixed))
    return Deployment.of(rows)


def run(plan: GeoPlan, where: dict[str, tuple[int, ...]] | None = None) -> tuple[Piece, ...]:
    return pieces_of(Generation("q", 1, plan), deployed(plan, where or {}), SITES)


def test_a_partial_aggregate_runs_in_its_source_s_piece() -> None:
    plan = next(p for p in logical_plans(query()) if p.name == "q-partial-0")
    pieces = {piece.name: piece for piece in run(plan)}
    assert pieces["q-g1-in-tokyo"].stages == ("in-tokyo", "part-in-tokyo")
    (channel,) = pieces["q-g1-in-tokyo"].writes
    assert (channel.topic, channel.site) == ("q-g1-in-tokyo.combine-all-0", "tokyo"), "rows wait where they are made"
    assert pieces["q-g1-sink-0"].reads[0].site == "ohio", "results are written where they are wanted"


def test_each_task_of_an_aggregate_is_a_piece_with_a_topic_from_every_writer() -> None:
    plan = logical_plans(query())[0]
    pieces = run(plan, {"combine-all": (1, 2, 0)})
    tasks = [piece for piece in pieces if piece.stages == ("combine-all",)]
    assert [(piece.site, piece.part) for piece in tasks] == [("frankfurt", 0), ("ohio", 1), ("ohio", 2)]
    assert all(len(piece.reads) == 3 for piece in tasks)
    assert len({channel.topic for piece in pieces for channel in piece.reads}) == 9 + 3


def test_without_state_each_source_has_pieces_of_its_own() -> None:
    plan = logical_plans(query(last=None, steps=(FilterRows(0.1),)))[0]
    pieces = run(plan)
    assert len(pieces) == 9
    assert all(len(piece.reads) <= 1 and len(piece.writes) <= 1 for piece in pieces)
    followed = {piece.writes[0].topic for piece in pieces if piece.writes}
    assert followed == {piece.reads[0].topic for piece in pieces if piece.reads}


def test_who_moves_takes_no_topic_along() -> None:
    plan = next(p for p in logical_plans(query()) if len(p.stages) == 6)  # two stages that may be anywhere
    before = run(plan)
    homes = {channel.topic: channel.site for piece in before for channel in piece.reads}
    free = next(stage.name for stage in plan.stages if stage.free and stage.kind == "combine")
    after = pieces_of(Generation("q", 1, plan), deployed(plan, {free: (0, 0, 1)}), SITES, homes)
    assert [piece.reads for piece in after] == [piece.reads for piece in before]
    assert {piece.site for piece in after if piece.stages == (free,)} == {"tokyo"}


@given(data=st.data())
def test_every_row_has_one_way_to_the_sink(data: st.DataObject) -> None:
    plan = data.draw(st.sampled_from(logical_plans(query())))
    row = st.tuples(*[st.integers(0, 2)] * 3).filter(any)
    where = {stage.name: data.draw(row) for stage in plan.stages if stage.free}
    pieces = run(plan, where)
    names = [piece.name for piece in pieces]
    assert len(set(names)) == len(names)
    written = [channel for piece in pieces for channel in piece.writes]
    read = [channel for piece in pieces for channel in piece.reads]
    assert sorted(c.topic for c in written) == sorted(c.topic for c in read), "each topic has one writer and one reader"
    for piece in pieces:
        for channel in piece.reads:
            assert names.index(channel.writer) < names.index(piece.name), "each after those that it reads from"
    of = {stage.name: [p for p in pieces if stage.name in p.stages] for stage in plan.stages}
    for stage in plan.stages:
        for above in stage.inputs:
            for reader in of[stage.name]:
                writers = {channel.writer for channel in reader.reads}
                assert {p.name for p in of[above]} <= writers | {reader.name}


def test_a_source_that_was_put_elsewhere_is_refused() -> None:
    plan = logical_plans(query())[0]
    with pytest.raises(SettingError, match="expected frankfurt, where its rows are made"):
        run(plan, {"in-frankfurt": (0, 1, 0)})
    with pytest.raises(SettingError, match="expected one task or more"):
        run(plan, {"combine-all": (0, 0, 0)})


def test_what_a_site_is_to_run_can_be_read_again(tmp_path: Path) -> None:
    pieces = run(logical_plans(query())[0])
    told = SiteFile("job.py", {"ohio": "10.0.0.1:9092"}, str(tmp_path / "limits.json"), pieces)
    code = told.written(tmp_path / "site.py")
    assert SiteFile.read(tmp_path / "site.json") == told
    compile(code.read_text(), str(code), "exec")


def test_ends_of_generations_are_kept_beside_one_another(tmp_path: Path) -> None:
    limits = tmp_path / "limits.json"
    assert ends_of(limits) == {}
    set_end(limits, 1, EventMs(10_000))
    set_end(limits, 2, EventMs(20_000))
    assert ends_of(limits) == {1: 10_000, 2: 20_000}
    limits.write_text("what?")
    with pytest.raises(HeadwayError, match="expected"):
        ends_of(limits)


def test_a_record_can_be_read_by_who_comes_next(tmp_path: Path) -> None:
    plan = logical_plans(query())[0]
    pieces = tuple(PlacedPiece(piece, PieceLife(piece.site, 1, f"c/{piece.name}/1")) for piece in run(plan))
    moved = pieces[3].next("tokyo", "c/elsewhere")
    record = AreaRecord("q", SITES, (RunningPlan(1, plan.name, deployed(plan, {}), pieces).with_piece(moved),), {"old": 4})
    file = RecordFile(tmp_path / "record.json")
    assert file.read() is None
    file.write(record)
    assert file.read() == record
    assert json.loads(file.path.read_text())["plans"][0]["pieces"][3]["now"] == asdict(moved.now)
    file.path.write_text("{")
    with pytest.raises(HeadwayError, match="expected what a controller has written"):
        file.read()


def test_a_life_that_never_began_leaves_nothing_to_go_on_from() -> None:
    piece = run(logical_plans(query())[0])[3]
    first = PlacedPiece(piece, PieceLife("ohio", 1, "one"), begun=True)
    second = first.next("tokyo", "two")
    assert second.moving and second.before == first.now and second.piece.site == "tokyo"
    third = second.next("ohio", "three")
    assert third.before == first.now and third.now.epoch == 3 and not third.moving
