"""A deadline in virtual time: windows come out within it, and nothing is lost that it leaves time for."""

from functools import cache
from typing import Any

import pytest

from headway.errors import SettingError
from headway.loop import codec
from headway.loop.kernel import Kernel
from headway.loop.replay import replay
from headway.loop.thresholds import Threshold
from headway.model.deadline import Deadlines, window
from headway.model.message import InputSpec, QuerySpec
from headway.model.slack import Report
from headway.model.time import WallMs
from headway.policy.order import Klink
from headway.policy.patience import Deadline
from headway.policy.slack import SLTuner, StaticSlack, TcpAdaptation
from headway.sim.microbatch import Notebook, VirtualQuery, VirtualWorld
from headway.sim.streams import VirtualInput

WITHIN_MS = 6_000


@cache
def run(bus_delay_ms: int, policy: Deadline, until_ms: int = 120_000) -> VirtualWorld:
    def stream(name: str, delay_ms: int) -> VirtualInput:
        return VirtualInput(name, policy.delay_ms, 100, (delay_ms, delay_ms + 30), policy=policy)

    world = VirtualWorld(Klink(), slots=1, seed=1)
    world.add(VirtualQuery("q", window("3 s"), (stream("bus", bus_delay_ms), stream("road", 50)), fixed_ms=40))
    world.run(until_ms)
    return world


def late(world: VirtualWorld) -> int:
    return sum(i.view.late_rows for i in world.controller.queries["q"].inputs.values())


def waits(world: VirtualWorld, after_ms: int = 60_000) -> list[int]:
    found = [w.at - w.end for w in world.windows if w.end > after_ms]
    assert len(found) > 10
    return found


def test_a_source_that_can_be_waited_for_is_waited_for() -> None:
    found = waits(run(4_000, Deadline(WITHIN_MS)))
    assert 4_000 < min(found) <= max(found) < WITHIN_MS


def test_one_that_cannot_does_not_break_the_deadline() -> None:
    world = run(20_000, Deadline(WITHIN_MS))
    assert all(wait < WITHIN_MS for wait in waits(world))
    assert late(world) > 0


def test_it_waits_for_as_long_as_the_deadline_leaves_time() -> None:
    tuned, low = run(20_000, Deadline(WITHIN_MS)), run(20_000, Deadline(WITHIN_MS, StaticSlack(500)))
    assert min(waits(tuned)) > max(waits(low)) + 1_000


@pytest.mark.parametrize("tuner", [StaticSlack(1_000), TcpAdaptation()], ids=["static", "tcp"])
def test_rivals_can_be_set_in_its_place(tuner: Any) -> None:
    assert waits(run(2_000, Deadline(WITHIN_MS, tuner)))


def test_until_something_is_known_half_of_the_time_is_given_to_waiting() -> None:
    source = InputSpec("bus", 3_000, policy=Deadline("6 s"), slt_ms=3_000)
    threshold, book = Threshold.of(QuerySpec("q", (source,), Deadlines((window("3 s"),)), True)), Notebook()
    assert threshold is not None and threshold.learner is not None and threshold.most_ms == WITHIN_MS
    assert threshold.ms == 3_000 and threshold.lesson("q") is None
    threshold.reports.append(Report("query", 1.0, 3_000, 1_500, 0))
    work = threshold.lesson("q")
    assert work is not None and threshold.lesson("q") is None  # one lesson at a time
    threshold.learnt(work())
    Kernel(book).ask(threshold.question("q"), WallMs(0))
    assert 0 <= threshold.ms < WITHIN_MS and "too little is known" in book.entries[0].decided.because


def test_decisions_about_a_threshold_are_written_down_and_come_out_the_same_again() -> None:
    world = run(2_000, Deadline(WITHIN_MS))
    told = [entry for entry in world.notebook.entries if entry.question == "slack"]
    assert len(told) > 3 and any(entry.seen.curves for entry in told) and {entry.scope for entry in told} == {"q"}
    assert not list(replay(told, SLTuner(WITHIN_MS)))
    for entry in told:
        assert SLTuner(WITHIN_MS).decide(codec.told(codec.tell(entry.seen))) == entry.proposed


@pytest.mark.parametrize("within", [0, "0 ms", "soon", -1])
def test_a_deadline_that_is_none_is_refused(within: object) -> None:
    with pytest.raises(SettingError) as error:
        Deadline(within)  # type: ignore[arg-type]
    assert str(error.value).startswith("patience.within = ")
