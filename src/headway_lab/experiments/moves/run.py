"""Playing schedules: thousands over all cores, and making the smallest of one that breaks a law."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

from headway.sim.fleet_faults.fault_laws import BrokenLaw, judged
from headway.sim.fleet_faults.making import fleet_schedule
from headway.sim.fleet_faults.schedule import FleetSchedule
from headway.sim.fleet_faults.story import counts, moves_ended
from headway.sim.fleet_faults.world import FaultyFleet, FleetRules

CHUNK = 10  # schedules that one process plays before it tells


@dataclass
class ScheduleTally:
    """What some schedules were made of, and what came of it."""

    schedules: int = 0
    batches: int = 0
    sums: Counter[str] = field(default_factory=Counter)  # of what the fleets counted
    actions: Counter[str] = field(default_factory=Counter)
    touched: Counter[str] = field(default_factory=Counter)  # schedules with such an action
    broke: Counter[str] = field(default_factory=Counter)  # of them, those that broke a law
    outcomes: Counter[str] = field(default_factory=Counter)  # of moves
    laws: Counter[str] = field(default_factory=Counter)
    bad: list[tuple[int, list[BrokenLaw]]] = field(default_factory=list)  # by number

    def add(self, number: int, world: FaultyFleet, broken: list[BrokenLaw]) -> None:
        found = counts(world)
        self.schedules += 1
        self.batches += found.batches
        self.sums.update(
            commits_again=found.commits_again, refused_by_sink=found.refused_by_sink,
            refused_files=found.refused_files, answers_refused=found.answers_refused, elections=world.store.leader,
        )  # fmt: skip
        kinds = Counter(str(action["do"]) for action in world.schedule.actions)
        self.actions += kinds
        self.touched.update(kinds.keys())
        self.outcomes.update(ended.outcome.value for ended in moves_ended(world))
        if broken:
            self.broke.update(kinds.keys())
            self.laws.update({one.law for one in broken})
            self.bad.append((number, broken))

    def join(self, other: "ScheduleTally") -> None:
        self.schedules += other.schedules
        self.batches += other.batches
        for mine, theirs in (
            (self.sums, other.sums), (self.actions, other.actions), (self.touched, other.touched),
            (self.broke, other.broke), (self.outcomes, other.outcomes), (self.laws, other.laws),
        ):  # fmt: skip
            mine.update(theirs)
        self.bad += other.bad


def play_many(seed: int, numbers: range, jobs: int, rules: FleetRules | None = None) -> Iterator[ScheduleTally]:
    """Many schedules of a seed, some at a time."""
    chunks = [(seed, range(n, min(n + CHUNK, numbers.stop)), rules) for n in range(numbers.start, numbers.stop, CHUNK)]
    if jobs == 1:
        yield from map(_play_some, chunks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(_play_some, chunks)


def _play_some(task: tuple[int, range, FleetRules | None]) -> ScheduleTally:
    seed, numbers, rules = task
    tally = ScheduleTally()
    for number in numbers:
        tally.add(number, *judged(fleet_schedule(seed, number), rules))
    return tally


def plainest(schedule: FleetSchedule, law: str, rules: FleetRules | None = None, tries: int = 400) -> FleetSchedule:
    """A schedule that still breaks this law, with nothing in it that need not be there."""
    again = True
    while again and tries > 0:
        again = False
        for candidate in _plainer(schedule):
            tries -= 1
            if any(one.law == law for one in judged(candidate, rules)[1]):
                schedule, again = candidate, True
                break
            if tries <= 0:
                break
    return schedule


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
