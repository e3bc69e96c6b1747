"""Slack thresholds: of one query, and of a graph of operators."""

from headway.loop.kernel import Kernel
from headway.loop.thresholds import QUERY, Threshold
from headway.model.graph import Edge, Graph
from headway.model.slack import Report, SlackSeen, SLTs
from headway.model.time import WallMs
from headway.sim.microbatch import Notebook

CHAIN = Graph(("join", "alarm"), (Edge("join", "alarm", 5.0),))


class Follows:
    """Each operator's threshold is the greatest delay that it has seen."""

    def decide(self, seen: SlackSeen) -> SLTs:
        return SLTs({o: seen.worst_gap_ms[o] for o in seen.graph.operators}, because="as late as ever")


def report(operator: str, at_s: float, gap_ms: float) -> Report:
    return Report(operator, at_s, 0.0, 0.0, 0, gap_ms=gap_ms)


def learnt(threshold: Threshold, *reports: Report) -> SlackSeen:
    threshold.reports += reports
    work = threshold.lesson("q")
    assert work is not None
    threshold.learnt(work())
    assert threshold.seen is not None
    return threshold.seen


def test_each_operator_of_a_graph_has_its_own() -> None:
    threshold, book = Threshold(Follows(), None, 100.0, 1_000.0, CHAIN), Notebook()
    kernel, question = Kernel(book), threshold.question("q")
    assert threshold.slts == {"join": 100.0, "alarm": 100.0}
    learnt(threshold, report("join", 1, 700), report("alarm", 1, 30))
    kernel.ask(question, WallMs(1_000))
    assert threshold.slts == {"join": 700.0, "alarm": 30.0}
    learnt(threshold, report("join", 2, 200), report("alarm", 2, 4_000))
    kernel.ask(question, WallMs(2_000))
    assert threshold.slts == {"join": 700.0, "alarm": 1_000.0}  # no further than the most
    assert [entry.seen.slts for entry in book.entries] == [
        dict.fromkeys(CHAIN.operators, 100.0),
        {"join": 700.0, "alarm": 30.0},
    ]


def test_what_is_seen_goes_on_from_lesson_to_lesson() -> None:
    threshold = Threshold(Follows(), None, 0.0, 1_000.0, CHAIN)
    first = learnt(threshold, report("join", 1, 70), report("alarm", 1, 3))
    assert (first.periods, dict(first.before)) == (1, {})
    # Two periods have passed while it was learnt from the first.
    later = [report(o, at, gap) for at, gap in ((2, 50.0), (3, 20.0)) for o in CHAIN.operators]
    second = learnt(threshold, *later)
    assert second.periods == 3 and {o: r.at_s for o, r in second.last.items()} == {"join": 3, "alarm": 3}
    assert {o: r.at_s for o, r in second.before.items()} == {"join": 2, "alarm": 2}
    assert second.worst_gap_ms == {"join": 70.0, "alarm": 50.0}
    third = learnt(threshold, report("join", 4, 0), report("alarm", 4, 0))
    assert {o: r.at_s for o, r in third.before.items()} == {"join": 3, "alarm": 3}


def test_a_query_has_one_for_all_its_gates() -> None:
    threshold = Threshold(Follows(), None, 500.0, 1_000.0)
    assert threshold.ms == 500.0
    learnt(threshold, report(QUERY, 1, 640))
    Kernel(Notebook()).ask(threshold.question("q"), WallMs(1_000))
    assert threshold.ms == 640.0
