"""What a decision makes of the record. Pure.

As many pieces as before: those whose site is another now move, with their checkpoints. Other pieces, by another plan or with
another number of tasks: a generation that begins at a moment of the stream, at which the one before ends. No state moves
then: the sources have the rows.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headway.model.adaptation import Placed, Replan
from headway.model.geo import Deployment, GeoPlan
from headway.model.piece import Piece
from headway.model.time import EventMs
from headway.wan.control.record import AreaRecord, PieceLife, PlacedPiece, RunningPlan
from headway.wan.control.sites import SiteAddress
from headway.wan.pieces import Generation, pieces_of

Sites = Mapping[str, SiteAddress]


def first_plan(pipeline: str, sites: Sequence[SiteAddress], plan: GeoPlan, deployed: Deployment) -> AreaRecord:
    """What a controller begins with."""
    area = {site.name: site for site in sites}
    return AreaRecord(pipeline, tuple(area)).with_plan(generation(pipeline, 1, plan, deployed, area))


def generation(
    pipeline: str, number: int, plan: GeoPlan, deployed: Deployment, sites: Sites, since: EventMs | None = None
) -> RunningPlan:
    pieces = pieces_of(Generation(pipeline, number, plan, since), deployed, tuple(sites))
    lives = tuple(PlacedPiece(one, PieceLife(one.site, 1, sites[one.site].checkpoint(one.name, 1))) for one in pieces)
    return RunningPlan(number, plan.name, deployed, lives, since)


def can_move(record: AreaRecord, plan: GeoPlan, decided: Placed) -> bool:
    """Whether the pieces that there are can be placed as was decided."""
    if isinstance(decided, Replan) and decided.plan.name != record.current.plan:
        return False
    return all(
        len(_pieces(record.current, stage.name)) == _pieces_for(plan, place, decided.deployed)
        for place, stage in enumerate(plan.stages)
        if stage.free
    )


def moved(record: AreaRecord, plan: GeoPlan, deployed: Deployment, sites: Sites) -> AreaRecord:
    """Each piece that leaves its site has a further life ahead of it."""
    current = replace(record.current, deployed=deployed)
    for place, stage in enumerate(plan.stages):
        if not stage.free:
            continue
        here = _pieces(record.current, stage.name)
        for placed, site in zip(here, _sites_for(here, deployed.tasks[place], tuple(sites)), strict=True):
            if placed.now.site != site:
                current = current.with_piece(next_life(placed, sites[site]))
    return record.with_plan(current)


def next_life(placed: PlacedPiece, site: SiteAddress) -> PlacedPiece:
    return placed.next(site.name, site.checkpoint(placed.name, placed.now.epoch + 1))


def moment_for(complete: Sequence[EventMs], now_ms: int, ahead_ms: int, window_ms: int) -> EventMs:
    """The end of a window that no piece has emitted, and none will before all know of it."""
    base = max(complete, default=EventMs(now_ms))
    return EventMs(-(-(base + ahead_ms) // window_ms) * window_ms)


def _pieces(running: RunningPlan, stage: str) -> list[PlacedPiece]:
    return [placed for placed in running.pieces if placed.piece.stages[0] == stage]


def _pieces_for(plan: GeoPlan, place: int, deployed: Deployment) -> int:
    """Without state a stage has a piece for each source, however many tasks it has."""
    stateless = all(stage.kind in ("source", "stateless", "sink") for stage in plan.stages)
    return sum(stage.kind == "source" for stage in plan.stages) if stateless else deployed.parallelism(place)


def _sites_for(here: Sequence[PlacedPiece], tasks: Sequence[int], names: Sequence[str]) -> list[str]:
    """A site for each piece: where it is, if there is room for it; else where there is some."""
    wanted = [name for name, n in zip(names, tasks, strict=True) for _ in range(n)]
    room = Counter(wanted[n % len(wanted)] for n in range(len(here)))
    out: list[str | None] = []
    for placed in here:
        stays = room[placed.now.site] > 0
        room[placed.now.site] -= stays
        out.append(placed.now.site if stays else None)
    left = iter(room.elements())
    return [site if site is not None else next(left) for site in out]


def pieces_in(record: AreaRecord) -> tuple[Piece, ...]:
    return tuple(placed.piece for plan in record.plans for placed in plan.pieces)


def as_it_stands(record: AreaRecord, plan: GeoPlan) -> AreaRecord:
    """With the deployment that the pieces' sites make: a piece that could not go where it should is at home again."""
    current = record.current
    rows = []
    for place, stage in enumerate(plan.stages):
        row = current.deployed.tasks[place]
        at = Counter(placed.now.site for placed in _pieces(current, stage.name))
        if stage.free and set(at) != {name for name, n in zip(record.sites, row, strict=True) if n}:
            row = tuple(at[name] for name in record.sites)
        rows.append(row)
    return record.with_plan(replace(current, deployed=Deployment.of(rows)))
