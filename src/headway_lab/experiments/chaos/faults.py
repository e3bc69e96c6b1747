"""The faults, each a function of the stage: it breaks something, mends it where that is due, and returns when it is over."""

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


def driver_killed(stage: FaultTarget) -> None:
    stage.begin_again()


def driver_frozen(stage: FaultTarget) -> None:
    stage.signal(signal.SIGSTOP)
    time.sleep(stage.chance.choice((1, 3, 6, 12)))
    stage.signal(signal.SIGCONT)


def policy_raises(stage: FaultTarget) -> None:
    stage.order("policy_fails")


def controller_raises(stage: FaultTarget) -> None:
    stage.order("controller_fails")


def lines_cut(stage: FaultTarget) -> None:
    names = stage.plan.names
    stage.order("cut", stage.chance.sample(names, stage.chance.randint(1, len(names))))


def gate_closed(stage: FaultTarget) -> None:
    stage.order("close_gate", stage.chance.uniform(0, 4))


def sink_raises(stage: FaultTarget) -> None:
    stage.order("sink_fails", stage.chance.choice(stage.plan.names))


def broker_stopped(stage: FaultTarget) -> None:
    assert stage.broker is not None, "chosen only where there is a broker"
    os.kill(stage.broker.pid, signal.SIGSTOP)
    time.sleep(stage.chance.uniform(0.5, 8))
    os.kill(stage.broker.pid, signal.SIGCONT)


def broker_killed(stage: FaultTarget) -> None:
    broker = stage.broker
    assert broker is not None, "chosen only where there is a broker"
    broker.kill()
    time.sleep(stage.chance.uniform(0, 3))
    stage.broker = start(broker.folder, port=broker.port)


def clock_set(stage: FaultTarget) -> None:
    assert stage.clock is not None, "chosen only where it can be set"
    stage.clock.set(stage.chance.choice([ms for ms in STEPS_MS if ms != stage.clock.set_ms]))


def journal_full(stage: FaultTarget) -> None:
    _full(stage, [plan.journal(stage.work)], stage.chance.uniform(1, 6))


def checkpoint_full(stage: FaultTarget) -> None:
    names = stage.plan.names if stage.chance.random() < 0.2 else [stage.chance.choice(stage.plan.names)]
    _full(stage, [plan.checkpoint(stage.work, name) for name in names], stage.chance.uniform(0.5, 4))


def side_table_full(stage: FaultTarget) -> None:
    names = [name for name in stage.plan.names if keeps_late(name)]
    _full(stage, [plan.side_table(stage.work, stage.chance.choice(names))], stage.chance.uniform(1, 6))


def _full(stage: FaultTarget, folders: list[Any], seconds: float) -> None:
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
    needs: Callable[[FaultTarget], bool] = lambda stage: True


def _broker(stage: FaultTarget) -> bool:
    return stage.broker is not None and any(from_kafka(name) for name in stage.plan.names)


def _disks(stage: FaultTarget) -> bool:
    return stage.mounted


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
    "clock set": FaultKind(clock_set, 3, lambda stage: stage.clock is not None),
    "journal full": FaultKind(journal_full, 2, _disks),
    "checkpoint full": FaultKind(checkpoint_full, 2, _disks),
    "side table full": FaultKind(side_table_full, 2, _disks),
}
