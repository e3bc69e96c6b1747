"""A query over two sites and its true answer: views per campaign, of ads that are shown at both."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.kafka import topics
from headway.model.geo import Deployment, GeoPlan
from headway.model.piece import Piece
from headway.sim.delays import Uniform
from headway.wan.job import GeoJob
from headway.wan.pieces import Generation, pieces_of
from headway.wan.plan import FilterRows, GeoQuery, GeoSource, MapRows, MergedValue, WindowAggregate
from headway_lab.workloads.sql import entry
from headway_lab.workloads.ysb import SCHEMA, Ysb

SITES = ("here", "there")
WINDOW_MS, RATE = 2_000, 60
Panes = dict[tuple[int, int], int]  # views by end of the window and campaign


class Delivered:
    """A sink that remembers: a batch that comes again takes its own place."""

    def __init__(self) -> None:
        self.batches: dict[tuple[str, int], list[tuple[int, int, int]]] = {}

    def sink(self, name: str) -> Callable[[Any, int], None]:
        def write(batch: Any, number: int) -> None:
            rows = batch.selectExpr("unix_millis(window_end) as e", "campaign_id", "views").collect()
            self.batches[name, number] = [(int(r.e), int(r.campaign_id), int(r.views)) for r in rows]

        return write

    @property
    def panes(self) -> Panes:
        rows = [row for number in sorted(self.batches) for row in list(self.batches[number])]
        assert len({(end, campaign) for end, campaign, _ in rows}) == len(rows), "nothing twice"
        return {(end, campaign): views for end, campaign, views in rows}

    def up_to(self, until: int) -> Panes:
        return {pane: views for pane, views in self.panes.items() if pane[0] <= until}

    @property
    def last_end(self) -> int:
        return max((end for end, _ in self.panes), default=0)


def shown(epoch_ms: int, sites: tuple[str, ...] = SITES) -> dict[str, Ysb]:
    """The ads that each site shows; a campaign has the same ads everywhere, so its views are counted together."""
    return {site: Ysb(7, RATE + 7 * n, epoch_ms, Uniform(0, 100), WINDOW_MS) for n, site in enumerate(sites)}


def job_of(name: str, ads: dict[str, Ysb], sink: Any, aggregated: bool = True) -> GeoJob:
    campaign = f"{entry(next(iter(ads.values())).campaign_of, 'int(ad_id)')} as campaign_id"
    views = WindowAggregate(
        WINDOW_MS, keys=100, row_bytes=60, state_mb=1, by=("campaign_id",), values=(MergedValue("views", "1"),)
    )
    query = GeoQuery(
        name,
        tuple(GeoSource(f"ads-{site}", site, 200, topic=f"{name}-{site}") for site in ads),
        (FilterRows(1 / 3, where="event_type = 'view'"), MapRows(40, select=(campaign,))),
        views if aggregated else None,
        sink_site=next(iter(ads)),
    )
    # Rows decide, however late this machine sends them.
    return GeoJob(query, SCHEMA, "timestamp_millis(event_ms)", sink, idle_after="never")


def pieces_in_order(job: GeoJob, plan: GeoPlan, where: dict[str, tuple[int, ...]], number: int = 1, **more: Any) -> Any:
    sites = tuple(dict.fromkeys(source.site for source in job.query.sources))
    rows = [where.get(s.name, tuple(int(site == (s.site or sites[0])) for site in sites)) for s in plan.stages]
    return pieces_of(Generation(job.query.name, number, plan, **more), Deployment.of(rows), sites)


def made_topics(address: str, job: GeoJob, pieces: tuple[Piece, ...]) -> None:
    for source in job.query.sources:
        topics.create(address, job.topic(source.name))
    for piece in pieces:
        for channel in piece.writes:
            topics.create(address, channel.topic)
            topics.create(address, channel.progress)


def truth(ads: dict[str, Ysb], until: int) -> Panes:
    total: Counter[tuple[int, int]] = Counter()
    for one in ads.values():
        total.update(one.truth(until))
    return {pane: views for pane, views in total.items() if pane[0] <= until}


def checkpoint(folder: Path, piece: Piece) -> str:
    return str(folder / piece.name)
