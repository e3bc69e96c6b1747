"""A wide-area controller over real nodes, agents and a broker: what it decides is carried out, and results stay exact."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from headway.kafka import topics
from headway.loop.journal import Journal
from headway.loop.questions.adaptation import Calm
from headway.model.adaptation import AdaptationDecision, AdaptationMemory, AreaView, Keep, Reassign, Replan
from headway.transfer.server import FolderServer
from headway.wan.control.controller import AreaController, AreaJob, AreaPace
from headway.wan.control.sight import KnownArea, UnmeasuredLinks
from headway.wan.control.sites import SiteAddress
from headway.wan.job import job_in
from headway_lab.experiments.wan_live.views import (
    AdStream,
    Views,
    delivered,
    last_end,
    true_views,
    twice,
    up_to,
    views_of,
    wrong,
)
from headway_lab.workloads.replay import replay
from spark.fleet.moving import TOKEN, NodeProcess
from spark.scripted import wait_until

JOB = Path(__file__).parents[2] / "examples" / "wide_area.py"
SITES, WINDOW_MS, SECONDS = ("here", "there"), 2_000, 32
PACE = AreaPace(sample_s=0.2, round_ms=1_000, calm=Calm(spike_ms=0, settle_ms=0, return_ms=0))


@dataclass(slots=True)
class Wish:
    """Decides once what it was told to, as soon as it may."""

    wanted: str = ""

    def decide(self, seen: AreaView, memory: AdaptationMemory) -> tuple[AdaptationDecision, AdaptationMemory]:
        if not self.wanted or seen.changing:
            return Keep("nothing is wished"), memory
        wanted, self.wanted = self.wanted, ""
        if wanted == "another plan":
            plan = seen.alternatives[0]
            rows = [tuple(int(name == (s.site or "here")) for name in SITES) for s in plan.stages]
            return Replan(plan, type(seen.deployed).of(rows), "the test says so"), memory
        place = seen.plan.index("combine-all")
        row = tuple(int(name == wanted) for name in SITES)
        return Reassign("combine-all", seen.deployed.replaced(place, row), "the test says so"), memory


@dataclass(slots=True)
class Area:
    """Two sites, and what is sent there."""

    known: KnownArea
    folder: Path
    results: Path
    nodes: dict[str, NodeProcess]
    sent: list[AdStream]
    policy: Wish

    def controller(self, journal: str) -> AreaController:
        log = Journal(self.folder / journal)
        wanted = AreaJob(job_in(JOB), JOB, self.folder, {f"ads-{site}": 60.0 for site in SITES})
        return AreaController(wanted, self.known, TOKEN, UnmeasuredLinks(2), self.policy, log, PACE)


@pytest.fixture
def area(kafka: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Area]:
    results = tmp_path / "results"
    for name, value in {"SITES": ",".join(SITES), "RESULTS": str(results), "WINDOW_MS": str(WINDOW_MS)}.items():
        monkeypatch.setenv(name, value)
    nodes, agents, addresses = {}, [], []
    for site in SITES:
        (tmp_path / site).mkdir()
        nodes[site] = NodeProcess(site, tmp_path, "--kafka", "--master", "local[1]")
        agents.append(FolderServer(tmp_path / site, "127.0.0.1", 0, TOKEN))
        agents[-1].start()
        topics.create(kafka, f"ads-{site}")
    for site, agent in zip(SITES, agents, strict=True):
        url = nodes[site].ready().url
        addresses.append(SiteAddress(site, url, agent.address, kafka, str(tmp_path / site), slots=4))
    even = np.full((2, 2), 1e6)
    sent: list[AdStream] = []
    yield Area(KnownArea(tuple(addresses), even, np.ones((2, 2)), even * 0), tmp_path, results, nodes, sent, Wish())
    for node in nodes.values():
        node.end()
    for agent in agents:
        agent.stop()


def sending(area: Area, address: str) -> None:
    epoch = time.time_ns() // 1_000_000 + 500
    for n, site in enumerate(SITES):
        area.sent.append(AdStream(n, 60, epoch, SECONDS))
        threading.Thread(target=replay, args=(area.sent[n].feeds(), address, f"ads-{site}"), daemon=True).start()


def test_pieces_move_and_plans_change_and_no_row_is_lost_or_counted_twice(area: Area, kafka: str) -> None:
    first = area.controller("first.db")
    first.start()
    sending(area, kafka)

    def calm(controller: AreaController, site: str = "") -> bool:
        """Looked at once more: nothing is under way, and the combining piece is there."""
        controller.step()
        placed = {p.piece.stages[0]: p for p in controller.record.current.pieces}
        return not controller.worker.busy and site in ("", placed["combine-all"].now.site)

    wait_until(lambda: calm(first) and last_end(delivered(area.results)) > 0, "a first window")
    home = next(p.now.site for p in first.record.current.pieces if p.piece.stages[0] == "combine-all")
    area.policy.wanted = away = next(site for site in SITES if site != home)
    wait_until(lambda: calm(first, away), "the piece to move")
    before = last_end(delivered(area.results))
    wait_until(lambda: calm(first, away) and last_end(delivered(area.results)) > before, "a window from there")
    first.stop(end=False)
    second = area.controller("second.db")
    second.start()
    area.policy.wanted = "another plan"
    wait_until(lambda: calm(second) and second.record.current.number == 2, "another plan")
    until = area.sent[0].epoch_ms // WINDOW_MS * WINDOW_MS + (SECONDS - 4) * 1_000
    true = up_to(true_views(area.sent, WINDOW_MS), until)

    def emitted() -> Views:
        return up_to(views_of(delivered(area.results)), until)

    wait_until(lambda: calm(second) and len(emitted()) >= len(true), "all windows")
    second.stop()
    assert twice(delivered(area.results)) == 0 and wrong(emitted(), true) == 0 and len(true) > 500
    assert len(second.record.plans) == 1
