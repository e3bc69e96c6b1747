"""What WASP makes of what a live area shows of a link that halves while rates double: the stage behind it goes elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from headway.estimate.link import first_known
from headway.model.adaptation import AdaptationMemory, Keep, Reassign
from headway.model.area import LOCAL
from headway.model.time import WallMs
from headway.policy.load import policy_of
from headway.wan.control.beginning import first_record
from headway.wan.control.link_gauge import Counts, LinkCount, LinkGauge
from headway.wan.control.rates import AreaSample
from headway.wan.control.sight import AreaSight, ChangeHistory, KnownArea
from headway.wan.control.sites import SiteAddress
from headway.wan.job import job_in

JOB = Path(__file__).parents[2] / "src" / "headway_lab" / "experiments" / "wan_live" / "job.py"
SITES = ("frankfurt", "ohio", "tokyo")  # results are wanted at the first
FAR = SITES[1:]
BYTES_PER_S, ROW_BYTES, CHANGE, ROUND = 112_500, 360, 60, 10


class TwoLinks:
    """Rows of two far sites on their way to a stage at the first: as many as their links carry, the others wait in front."""

    def __init__(self) -> None:
        self.carried = dict.fromkeys(SITES, 0.0)
        self._waits, self._held_up = dict.fromkeys(SITES, 0.0), dict.fromkeys(SITES, 0)

    def second(self, rate: float, tokyo: float) -> Counts:
        for site, speed in (("frankfurt", LOCAL), ("ohio", BYTES_PER_S), ("tokyo", tokyo)):
            took = min(self._waits[site] + rate, speed / ROW_BYTES)
            self._waits[site] += rate - took
            self.carried[site] += took
            self._held_up[site] += self._waits[site] > 0
        return {
            (site, "frankfurt"): LinkCount(
                int(self.carried[site] * ROW_BYTES), self._held_up[site], 9_000 if self._waits[site] > 0 else 0
            )
            for site in FAR
        }


@pytest.mark.parametrize("batch_s", [2, 6, 13])
def test_a_stage_behind_a_link_that_halves_goes_where_links_are_thick(
    batch_s: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {"SITES": ",".join(SITES), "RESULTS": str(tmp_path), "WINDOW_MS": "5000", "PARTIAL": "no"}.items():
        monkeypatch.setenv(name, value)
    job, policy, apart = job_in(JOB), policy_of("adaptation", "wasp"), 1.0 - np.eye(3)
    sites = tuple(SiteAddress(name, "", "", "", "/", 3) for name in SITES)
    known = KnownArea(sites, np.where(apart > 0, BYTES_PER_S, LOCAL), apart, 0.02 * apart)
    record = first_record(job, known, policy, {f"ads-{name}": 300.0 for name in SITES})
    pieces = tuple(placed.piece for placed in record.current.pieces)
    combine = next(piece for piece in pieces if piece.stages == ("combine-all",))
    assert combine.site == "frankfurt"
    gauge, links = LinkGauge(SITES, dict), TwoLinks()
    sight = AreaSight(known, first_known(known.bandwidth), gauge, 15_000, ROUND * 1_000)
    sight.runs(job.plan(record.current.plan), pieces)
    read, written = dict.fromkeys((piece.name for piece in pieces), 0), dict.fromkeys((c.topic for c in combine.reads), 0)
    before, memory, decided = links.second(0, BYTES_PER_S), AdaptationMemory(), []
    for second in range(1, CHANGE + 2 * ROUND + 1):
        rate = 100 if second <= CHANGE else 200
        now = links.second(rate, BYTES_PER_S if second <= CHANGE else BYTES_PER_S / 2)
        gauge.saw(before, now, 1.0)
        before = now
        written = {topic: rows + rate for topic, rows in written.items()}
        read |= {piece.name: read[piece.name] + 3 * rate for piece in pieces if not piece.reads}
        if second % batch_s == 0:
            read[combine.name] = int(sum(links.carried.values()))
        sight.saw(AreaSample(second * 1_000, dict(read), dict(written)))
        if second % ROUND == 0 and second > 2 * ROUND:
            sight.measure(WallMs(second * 1_000))
            history = ChangeHistory(False, WallMs(0), ())
            seen = sight.view(WallMs(second * 1_000), record, job.plans, history, frozenset())
            assert seen is not None
            answer, memory = policy.decide(seen, memory)
            decided.append((second, answer))
    assert all(isinstance(answer, Keep) for second, answer in decided if second <= CHANGE)
    last = decided[-1][1]
    assert isinstance(last, Reassign) and last.stage == "combine-all", last
    assert last.deployed.sites(job.plan(record.current.plan).index("combine-all")) == (1,), "at ohio"
