"""An application behind slack gates in virtual time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from headway.errors import SettingError
from headway.loop.journal import Journal, JournalReader
from headway.loop.replay import replay as replayed
from headway.model.graph import Edge, Graph
from headway.model.slack import Report
from headway.policy.slack import SlackSeen, SLTs, StaticSlack
from headway.sim.microbatch import Notebook
from headway_lab.experiments.slack import paper
from headway_lab.experiments.slack.application import Application, GraphTrace, GraphWorld, Operator
from headway_lab.workloads.bus_delays import Growing, Holdup, Periodic, Prompt, reports


def application(holdup: Holdup, seconds: int = 40, seed: int = 1) -> Application:
    told = {"bus": reports(seconds, 500, holdup, seed), "road": reports(seconds, 500, Prompt(), seed + 1)}
    return Application(Graph(("join",)), (Operator("join", sources=("bus", "road")),), told, seconds)


def run(ms: float, holdup: Holdup | None = None, seconds: int = 40) -> GraphTrace:
    return GraphWorld(application(holdup or Periodic(), seconds)).run(StaticSlack(ms))


def test_a_long_threshold_finds_all_events_in_order_and_a_short_one_is_quick() -> None:
    high, low = run(10_000), run(1_000)
    assert high.slack_ready == 0 and len(high.events_at_s) == high.possible_events
    assert high.latency_ms.max() > 7_500
    assert low.slack_ready > 5_000 and len(low.events_at_s) < 0.8 * low.possible_events
    assert low.latency_ms.max() < 1_050


def test_without_delay_no_threshold_matters() -> None:
    one, other = run(0, Prompt()), run(10_000, Prompt())
    assert one.latency_ms.max() < 50 and other.latency_ms.max() < 50
    assert len(other.events_at_s) == other.possible_events and other.slack_ready == 0


def test_a_longer_threshold_never_makes_more_tuples_slack_ready() -> None:
    counts = [run(ms).slack_ready for ms in (0, 500, 2_000, 5_000, 8_000, 9_000)]
    assert counts == sorted(counts, reverse=True) and counts[0] > counts[-1] == 0


def test_every_tuple_is_read_once_or_still_waits() -> None:
    world = GraphWorld(application(Growing(), 40))
    trace = world.run(StaticSlack(5_000))
    gate = world.running["join"]
    came = sum(int((r.in_ms < 40_000).sum()) for r in world.app.reports.values())
    origins = np.concatenate([origin for _, origin, _ in gate.read])
    assert len(set(origins.tolist())) == len(origins) == len(trace.latency_ms)
    assert len(origins) + len(gate.gate.waiting) == came


def test_the_same_seed_gives_the_same_run() -> None:
    one, two = run(2_000), run(2_000)
    assert (one.latency_ms == two.latency_ms).all() and one.reports == two.reports


def test_too_few_threads_queue_up() -> None:
    app = application(Prompt(), 10)
    slow = Application(app.graph, (Operator("join", service_ms=1.5, threads=1, sources=("bus", "road")),), app.reports, 10)
    assert GraphWorld(slow).run(StaticSlack(0)).latency_ms.max() > 2_000


class PatientThenNot:
    """Patient for ten seconds, then not at all."""

    def decide(self, seen: SlackSeen) -> SLTs:
        return SLTs(dict.fromkeys(seen.graph.operators, 0.0 if seen.periods >= 10 else 60_000.0), because="")


def test_a_cut_takes_effect_in_the_next_period() -> None:
    told = GraphWorld(application(Growing(), 15)).run(PatientThenNot()).reports["join"]
    assert told[9].waiting_ms > 3_000 and told[9].slack_ready == 0
    assert told[10].slack_ready > 1_500 and told[10].waiting_ms < 10 and told[11].latency_ms < 100


@pytest.mark.parametrize("who", ["static-high", "max-timestamp", "tcp", "sltuner"])
@pytest.mark.parametrize("name", ["periodic", "chain"])
def test_a_simulated_journal_replays_to_the_same_decisions(name: str, who: str, tmp_path: Path) -> None:
    """Bit for bit, from the file: what was seen is all that a decision rests upon."""
    scenario = replace(paper.SCENARIOS[name], seconds=30)
    contender, journal = paper.policies(scenario)[who](), Journal(tmp_path / "journal.db")
    world = GraphWorld(paper.application(scenario, 1))
    trace = world.run(contender.policy, paper.LOW_MS, contender.learner, journal)
    journal.close()
    told = list(JournalReader(tmp_path / "journal.db").entries("slack"))
    assert told and {entry.scope for entry in told} == {"application"}
    assert not list(replayed(told, contender.policy))
    assert any(entry.seen.curves for entry in told) == (contender.learner is not None)
    # What was decided is what the gates did in the period that began then.
    for entry in told:
        in_force = {o: reports[entry.at // 1000].slt_ms for o, reports in trace.reports.items()}
        assert entry.decided.ms == in_force and entry.seen.periods == entry.at // 1000


class WildSlack:
    """A threshold that cannot be."""

    def decide(self, seen: SlackSeen) -> SLTs:
        return SLTs(dict.fromkeys(seen.graph.operators, -5.0), because="")


def test_what_a_policy_wishes_is_guarded_as_live() -> None:
    book = Notebook()
    trace = GraphWorld(application(Prompt(), 3)).run(WildSlack(), journal=book)
    (entry,) = book.entries  # it never changes its mind
    assert entry.proposed.ms == {"join": -5.0} and entry.decided.ms == {"join": 0.0}
    assert "bounded" in entry.decided.because and {r.slt_ms for r in trace.reports["join"]} == {0.0}


class Forgetful:
    """A learner that fails."""

    def see(self, report: Report) -> None:
        raise ValueError("what was that?")

    def curves(self) -> None:
        return None


def test_a_lesson_that_fails_is_told() -> None:
    with pytest.raises(RuntimeError, match="what was that"):
        GraphWorld(application(Prompt(), 3)).run(StaticSlack(0), learner=Forgetful())


def chain(comm_ms: float) -> Application:
    told = {name: reports(20, 200, Prompt(), n) for n, name in enumerate(("bus", "road", "camera"))}
    graph = Graph(("join", "alarm"), (Edge("join", "alarm", comm_ms),))
    return Application(graph, (Operator("alarm", sources=("camera",)), Operator("join", sources=("bus", "road"))), told, 20)


def test_what_one_operator_has_read_goes_on_to_the_next() -> None:
    trace = GraphWorld(chain(300)).run(StaticSlack(5_000))
    # Cameras wait for the join's results, which take 300 ms; those have come that way, and wait no more.
    assert np.percentile(trace.latency_ms, [10, 50, 90]) == pytest.approx([300, 303, 310], abs=12)
    assert len(trace.latency_ms) == pytest.approx(3 * 20 * 200, rel=0.03)
    hasty = GraphWorld(chain(300)).run(StaticSlack(100))
    assert sum(r.slack_ready for r in hasty.reports["alarm"]) > 3_000
    assert sum(r.slack_ready for r in hasty.reports["join"]) == 0


def test_what_does_not_fit_together_is_refused() -> None:
    app = application(Prompt(), 1)
    with pytest.raises(SettingError, match="those of the graph"):
        Application(app.graph, (), app.reports, 1)
    with pytest.raises(SettingError, match="some of bus, road"):
        Application(app.graph, (Operator("join", sources=("tram",)),), app.reports, 1)
    with pytest.raises(SettingError, match="at least one thread"):
        Operator("join", threads=0)
