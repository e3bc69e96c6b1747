"""From a plan and where its stages run to the streaming queries of all sites. Pure.

A task of a stage is a piece. A source and the partial aggregate behind it are fused at their site. Rows between two pieces
are in a topic of their own at the broker of that end which stays where it is: a source's rows wait at the source's site
until they are fetched, results are written at the site of the sink. So a piece that moves takes no topic along, and no other
notices.

Tasks of an aggregate have parts of the keys. A pipeline without state has a piece for each source all the way, so that a
link that is down holds up no other.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headway.errors import SettingError
from headway.model.geo import Deployment, GeoPlan, Stage
from headway.model.piece import Channel, Piece
from headway.model.time import EventMs

Homes = Mapping[str, str]  # the site of a topic that is there already


@dataclass(frozen=True, slots=True)
class Generation:
    """A plan as it is run from some moment on."""

    pipeline: str
    number: int
    plan: GeoPlan
    since: EventMs | None = None  # None: from the beginning of the sources' topics

    def named(self, label: str) -> str:
        return f"{self.pipeline}-g{self.number}-{label}"


def pieces_of(made: Generation, deployed: Deployment, sites: Sequence[str], homes: Homes | None = None) -> tuple[Piece, ...]:
    """All pieces, each after those that it reads from."""
    plan = made.plan
    units = {stage.name: _units(made, stage, deployed, sites) for stage in plan.stages if not _fused(plan, stage)}
    reads: dict[str, list[Channel]] = defaultdict(list)
    writes: dict[str, list[Channel]] = defaultdict(list)
    for above, below in _edges(plan):
        for writer, reader in _pairs(plan, above, units[above.name], units[below.name]):
            topic = f"{writer.name}.{_label(below, reader.part)}"
            # Where both ends may move, it stays where it began.
            begun = writer.site if above.site is not None or below.site is None else reader.site
            channel = Channel(topic, (homes or {}).get(topic, begun), writer.name)
            reads[reader.name].append(channel)
            writes[writer.name].append(channel)
    return tuple(
        replace(piece, reads=tuple(reads[piece.name]), writes=tuple(writes[piece.name]))
        for those in units.values()
        for piece in those
    )


def _units(made: Generation, stage: Stage, deployed: Deployment, sites: Sequence[str]) -> list[Piece]:
    """The pieces of a stage and of what is fused with it, without their channels."""
    plan = made.plan
    row = deployed.tasks[plan.index(stage.name)]
    places = [site for site, tasks in zip(sites, row, strict=True) for _ in range(tasks)]
    if not places:
        raise SettingError(f"{plan.name}.{stage.name}", 0, "one task or more")
    if stage.kind == "source" and places != [stage.site]:
        raise SettingError(f"{plan.name}.{stage.name}.site", ", ".join(places), f"{stage.site}, where its rows are made")
    if _without_state(plan) and stage.kind != "source":
        places = [places[n % len(places)] for n in range(len(_sources(plan)))]
    stages = (stage.name, *(other.name for other in plan.stages if _fused(plan, other) and other.inputs == (stage.name,)))
    return [
        Piece(made.named(_label(stage, part)), plan.name, made.number, site, stages, part=part, since=made.since)
        for part, site in enumerate(places)
    ]


def _edges(plan: GeoPlan) -> Iterator[tuple[Stage, Stage]]:
    """Between stages of different pieces: the stage that leads the writer, and the one that reads."""
    for stage in plan.stages:
        if not _fused(plan, stage):
            for name in stage.inputs:
                above = plan.stage(name)
                yield (plan.stage(above.inputs[0]) if _fused(plan, above) else above), stage


def _pairs(plan: GeoPlan, above: Stage, writers: list[Piece], readers: list[Piece]) -> Iterator[tuple[Piece, Piece]]:
    if not _without_state(plan):
        yield from ((writer, reader) for writer in writers for reader in readers)
        return
    first = _sources(plan).index(above) if above.kind == "source" else 0
    yield from zip(writers, readers[first:], strict=False)


def _without_state(plan: GeoPlan) -> bool:
    """Rows of one source need not wait for those of another."""
    return all(stage.kind in ("source", "stateless", "sink") for stage in plan.stages)


def _sources(plan: GeoPlan) -> list[Stage]:
    return [stage for stage in plan.stages if stage.kind == "source"]


def _fused(plan: GeoPlan, stage: Stage) -> bool:
    """A partial aggregate that has its source's rows for itself runs in the source's piece."""
    if stage.kind != "partial" or len(stage.inputs) != 1:
        return False
    source = plan.stage(stage.inputs[0])
    readers = [other for other in plan.stages if source.name in other.inputs]
    return source.kind == "source" and source.site == stage.site and len(readers) == 1


def _label(stage: Stage, part: int) -> str:
    return stage.name if stage.kind == "source" else f"{stage.name}-{part}"
