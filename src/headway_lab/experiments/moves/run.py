"""Playing schedules: thousands over all cores, and making the smallest of one that breaks a law."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from headway.sim.fleet_faults.fault_laws import BrokenLaw, judged
from headway.sim.fleet_faults.making import fleet_schedule
from headway.sim.fleet_faults.schedule import FleetSchedule
from headway.sim.fleet_faults.story import counts, moves_ended
from headway.sim.fleet_faults.world import FaultyFleet, FleetRules
from headway_lab.harness.law_sweep import LawTally, chunks, smallest
from headway_lab.harness.sweep import swept


@dataclass
class ScheduleTally(LawTally):
    """What some schedules were made of, and what came of it."""

    sums: Counter[str] = field(default_factory=Counter)  # of what the fleets counted
    outcomes: Counter[str] = field(default_factory=Counter)  # of moves

    def add(self, number: int, world: FaultyFleet, broken: list[BrokenLaw]) -> None:
        found = counts(world)
        self.batches += found.batches
        self.sums.update(
            commits_again=found.commits_again, refused_by_sink=found.refused_by_sink,
            refused_files=found.refused_files, answers_refused=found.answers_refused, elections=world.store.leader,
        )  # fmt: skip
        self.outcomes.update(ended.outcome.value for ended in moves_ended(world))
        self.count(number, (str(action["do"]) for action in world.schedule.actions), broken)


def play_many(seed: int, numbers: range, jobs: int, rules: FleetRules | None = None) -> Iterator[ScheduleTally]:
    """Many schedules of a seed, some at a time."""
    for _, tally in swept(_play_some, [(seed, some, rules) for some in chunks(numbers)], jobs):
        yield tally


def _play_some(task: tuple[int, range, FleetRules | None]) -> ScheduleTally:
    seed, numbers, rules = task
    tally = ScheduleTally()
    for number in numbers:
        tally.add(number, *judged(fleet_schedule(seed, number), rules))
    return tally


def plainest(schedule: FleetSchedule, law: str, rules: FleetRules | None = None, tries: int = 400) -> FleetSchedule:
    """A schedule that still breaks this law, with nothing in it that need not be there."""
    return smallest(schedule, _plainer, lambda one: any(found.law == law for found in judged(one, rules)[1]), tries)


def _plainer(schedule: FleetSchedule) -> Iterator[FleetSchedule]:
    """Everything that is one step plainer."""
    actions = schedule.actions
    for n in range(len(actions)):
        yield replace(schedule, actions=(*actions[:n], *actions[n + 1 :]))
    for name in ("unfit", "broken"):
        if getattr(schedule, name):
            yield replace(schedule, **{name: ()})  # type: ignore[arg-type] # both are pairs
    used = {action["query"] for action in actions if "query" in action}
    if schedule.queries > 1 and schedule.query_names[-1] not in used:
        yield replace(schedule, queries=schedule.queries - 1)
    if schedule.silent:
        yield replace(schedule, silent=0)
