"""When a wide-area controller asks its policy: not while a site that runs a piece does not answer."""

import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from headway.loop.kernel import Entry
from headway.loop.questions.adaptation import Calm, adaptation
from headway.model.adaptation import AreaView
from headway.model.area import LOCAL
from headway.model.message import BatchSeen
from headway.model.time import WallMs
from headway.model.view import QueryView
from headway.policy.load import policy_of
from headway.wan.control.actuator import AreaActuator
from headway.wan.control.beginning import first_record
from headway.wan.control.book import AreaBook
from headway.wan.control.controller import AreaController, AreaJob, AreaPace
from headway.wan.control.record import RecordFile
from headway.wan.control.sight import KnownArea, UnmeasuredLinks
from headway.wan.control.sites import SiteAddress, StatusHeardAt
from headway.wan.control.worker import AreaWorker
from headway.wan.job import job_in

JOB = Path(__file__).parents[2] / "examples" / "wide_area.py"
SITES = ("frankfurt", "ohio", "tokyo")
ROUND_MS = 1_000


class Area:
    """A controller whose pieces have begun, and whose nodes answer as told."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("SITES", ",".join(SITES))
        job = job_in(JOB)
        apart = 1.0 - np.eye(3)
        sites = tuple(SiteAddress(name, "http://127.0.0.1:9", "http://127.0.0.1:9", "127.0.0.1:9", "/") for name in SITES)
        known = KnownArea(sites, np.where(apart > 0, 1e6, LOCAL), apart, apart)
        self.looks = 0
        self.silent: set[str] = set()
        policy, pace = policy_of("adaptation", "no-adapt"), AreaPace(round_ms=ROUND_MS, calm=Calm(0, 0))
        rates = {source.name: 100.0 for source in job.query.sources}
        wanted = AreaJob(job, JOB, folder, rates)
        self.controller = made = AreaController(wanted, known, "token", UnmeasuredLinks(3), policy, self, pace)
        book = AreaBook(RecordFile(folder / "record.json"), first_record(job, known, policy, rates))
        actuator = AreaActuator(job, made.sites, folder / "ends.json", book, dict)
        worker = AreaWorker(book, cast(Any, None), made.sites, lambda piece, text: None, made._over)
        made._running = worker, actuator
        made._kernel.add(adaptation(job.query.name, policy, self._see, actuator.act, pace.calm))
        made._changed_at = WallMs(1)
        made.sight.runs(made.plan, tuple(placed.piece for placed in made.record.current.pieces))
        monkeypatch.setattr(made.nodes, "heard", self._heard)

    def _heard(self, site: str) -> StatusHeardAt | None:
        return None if site in self.silent else StatusHeardAt(cast(Any, None), time.monotonic())

    def _see(self, now: WallMs) -> AreaView | None:
        self.looks += 1
        return self.controller._see(now)

    def append(self, entry: Entry) -> None: ...

    def batch(self, seen: BatchSeen, view: QueryView) -> None: ...

    def note(self, at: WallMs, query: str, text: str) -> None: ...


def test_nothing_is_asked_while_a_site_with_a_piece_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    area = Area(tmp_path, monkeypatch)
    for second in range(100, 105):
        area.controller._ask(WallMs(second * 1_000))
    assert area.looks == 4, "a round after the first look, and then every round"
    area.silent = {"tokyo"}
    for second in range(105, 115):
        area.controller._ask(WallMs(second * 1_000))
    assert area.looks == 4
    area.silent = set()
    for second in range(115, 120):
        area.controller._ask(WallMs(second * 1_000))
    assert area.looks == 9
    assert area.controller.said == ["nothing is asked while tokyo does not answer", "all sites answer again"]
