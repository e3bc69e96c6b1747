"""The faults, each a function of its target: it breaks something, mends it if due, and returns when that is over."""

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from headway.kafka.broker import Broker, start
from headway_lab.experiments.chaos import disks, plan
from headway_lab.experiments.chaos.clock import ChildClock
from headway_lab.experiments.chaos.plan import ChaosPlan, from_kafka, keeps_late

STEPS_MS = (0, 0, -3_600_000, 3_600_000, 90_000, -90_000, 5_000, -5_000, 40_000_000, -40_000_000)  # from the true time


class FaultTarget(Protocol):
    """What faults are done to."""

    work: Any
    plan: ChaosPlan
    chance: random.Random
    broker: Broker | None
    clock: ChildClock | None
    mounted: bool

    def order(self, what: str, *args: Any) -> Any:
        """Tell the child to do something, and wait until it has."""
        ...

    def signal(self, by: signal.Signals) -> None:
        """To the child and all that it has started."""
        ...

    def begin_again(self) -> None:
        """Kill the child and start it on the same checkpoints."""
        ...


def driver_killed(target: FaultTarget) -> None:
    target.begin_again()


def driver_frozen(target: FaultTarget) -> None:
    target.signal(signal.SIGSTOP)
    time.sleep(target.chance.choice((1, 3, 6, 12)))
    target.signal(signal.SIGCONT)


def policy_raises(target: FaultTarget) -> None:
    target.order("policy_fails")


def controller_raises(target: FaultTarget) -> None:
    target.order("controller_fails")


def lines_cut(target: FaultTarget) -> None:
    names = target.plan.names
    target.order("cut", target.chance.sample(names, target.chance.randint(1, len(names))))


def gate_closed(target: FaultTarget) -> None:
    target.order("close_gate", target.chance.uniform(0, 4))


def sink_raises(target: FaultTarget) -> None:
    target.order("sink_fails", target.chance.choice(target.plan.names))


def broker_stopped(target: FaultTarget) -> None:
    assert target.broker is not None, "chosen only where there is a broker"
    os.kill(target.broker.pid, signal.SIGSTOP)
    time.sleep(target.chance.uniform(0.5, 8))
    os.kill(target.broker.pid, signal.SIGCONT)


def broker_killed(target: FaultTarget) -> None:
    broker = target.broker
    assert broker is not None, "chosen only where there is a broker"
    broker.kill()
    time.sleep(target.chance.uniform(0, 3))
    target.broker = start(broker.folder, port=broker.port)


def clock_set(target: FaultTarget) -> None:
    assert target.clock is not None, "chosen only where it can be set"
    target.clock.set(target.chance.choice([ms for ms in STEPS_MS if ms != target.clock.set_ms]))


def journal_full(target: FaultTarget) -> None:
    _full(target, [plan.journal(target.work)], target.chance.uniform(1, 6))


def checkpoint_full(target: FaultTarget) -> None:
    names = target.plan.names if target.chance.random() < 0.2 else [target.chance.choice(target.plan.names)]
    _full(target, [plan.checkpoint(target.work, name) for name in names], target.chance.uniform(0.5, 4))


def side_table_full(target: FaultTarget) -> None:
    names = [name for name in target.plan.names if keeps_late(name)]
    _full(target, [plan.side_table(target.work, target.chance.choice(names))], target.chance.uniform(1, 6))


def _full(target: FaultTarget, folders: list[Any], seconds: float) -> None:
    try:
        for folder in folders:
            disks.fill(folder)
        time.sleep(seconds)
        for folder in folders:
            disks.fill(folder)  # what was deleted meanwhile is no way out
        time.sleep(0.2)
    finally:
        for folder in folders:
            disks.free(folder)


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: how often it is chosen, compared with others, and what there must be for it."""

    do: Callable[[FaultTarget], None]
    share: int = 2
    needs: Callable[[FaultTarget], bool] = lambda target: True


def _broker(target: FaultTarget) -> bool:
    return target.broker is not None and any(from_kafka(name) for name in target.plan.names)


def _disks(target: FaultTarget) -> bool:
    return target.mounted


KINDS = {
    "driver killed": FaultKind(driver_killed, 3),
    "driver frozen": FaultKind(driver_frozen, 1),
    "policy raises": FaultKind(policy_raises),
    "controller raises": FaultKind(controller_raises),
    "lines cut": FaultKind(lines_cut, 3),
    "gate closed": FaultKind(gate_closed),
    "sink raises": FaultKind(sink_raises, 1),
    "broker stopped": FaultKind(broker_stopped, 2, _broker),
    "broker killed": FaultKind(broker_killed, 1, _broker),
    "clock set": FaultKind(clock_set, 3, lambda target: target.clock is not None),
    "journal full": FaultKind(journal_full, 2, _disks),
    "checkpoint full": FaultKind(checkpoint_full, 2, _disks),
    "side table full": FaultKind(side_table_full, 2, _disks),
}
