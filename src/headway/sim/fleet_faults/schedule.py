"""A schedule: a fleet, and what happens to it when. Plain data, so that a bad day can be kept and played again.

What may happen, each with `at` (milliseconds):

    kill     `who` (a node or an orchestrator) dies at once and is started again `down` ms later
    freeze   `who` stands still for `ms`, whatever it was doing, and goes on; with `clock` its own clock stood still, too
    cut      no message passes between `who` and `whom` (`*`: any other) for `ms`
    store    the store is away for `ms`; it forgets nothing, and sessions begin their time anew
    move     `query` shall go to `node`; `id`, `timeout` and `force` are those of the request, which is sent `times` times
             with `partitions`, its state is spread over so many on the way
    upgrade  `query` gets new code, on `node`; with `fails` it dies in the batch of that number, with `hangs` it hangs
    stop     `query` shall end; with `forget` its folders are deleted, else with `again` it is submitted anew so much later
    fail     the incarnation of `query` that runs dies of itself
    crowd    messages are lost, doubled and late for `ms`
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headway.errors import SettingError

FleetAction = Mapping[str, Any]
FAULTS = ("kill", "freeze", "cut", "store", "fail", "crowd")
REQUESTS = ("move", "upgrade", "stop")


@dataclass(frozen=True, slots=True)
class FleetSchedule:
    """What is played."""

    seed: str = "0"  # of everything that is left to chance: delays, durations
    nodes: int = 3
    queries: int = 2
    silent: int = 0  # of the queries, so many get no rows after a while
    actions: tuple[FleetAction, ...] = ()
    unfit: tuple[tuple[str, str], ...] = field(default=())  # a query, and a node that says that it cannot run it
    broken: tuple[tuple[str, str], ...] = field(default=())  # a query, and a node on which its launch fails
    whole: tuple[str, ...] = ()  # queries whose state cannot be spread over other partitions
    length_ms: int = 30_000  # after that, nothing happens any more

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(f"n{number}" for number in range(self.nodes))

    @property
    def query_names(self) -> tuple[str, ...]:
        return tuple(f"q{number}" for number in range(self.queries))

    @property
    def stopped(self) -> frozenset[str]:
        """The queries that are stopped, and not submitted again."""
        last = {action["query"]: action for action in self.actions if action["do"] == "stop"}
        return frozenset(query for query, action in last.items() if action.get("again") is None)

    def as_json(self) -> str:
        """One action per line."""
        told = asdict(self)
        actions = ",\n".join(json.dumps(dict(action)) for action in told.pop("actions"))
        return f'{json.dumps(told)[:-1]}, "actions": [\n{actions}\n]}}\n'


def from_json(text: str) -> FleetSchedule:
    """One line says what is wrong with it."""
    try:
        told = json.loads(text)
        unfit, broken = (tuple((q, n) for q, n in told.pop(name, ())) for name in ("unfit", "broken"))
        actions, whole = tuple(told.pop("actions", ())), tuple(told.pop("whole", ()))
        schedule = FleetSchedule(actions=actions, unfit=unfit, broken=broken, whole=whole, **told)
    except (ValueError, TypeError, AttributeError) as error:
        raise SettingError("schedule", text[:40], f"a schedule as `headway sim moves` writes it, but {error}") from None
    for action in schedule.actions:
        if action.get("do") not in (*FAULTS, *REQUESTS):
            raise SettingError("schedule.do", action.get("do"), f"one of {', '.join((*FAULTS, *REQUESTS))}")
    return schedule
