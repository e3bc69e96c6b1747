"""The child: real queries under Klink, which break something inside themselves when they are told to."""

import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Client
from pathlib import Path
from typing import Any, ClassVar

from headway.model.decision import Decision
from headway.model.view import Snapshot
from headway.policy.order import Klink
from headway_lab.experiments.chaos import plan as plan_
from headway_lab.experiments.chaos.plan import HASTY_MS, PATIENCE_MS, ChaosPlan, from_kafka, keeps_late
from headway_lab.harness.checked_queries import start_counting
from headway_lab.harness.injected_faults import Fault, cut_lines, fail_controller
from headway_lab.workloads.ysb import Ysb

RESTARTS = 1_000


class RaiseOnce:
    """Raises where it is called, once each time that it is told to."""

    def __init__(self) -> None:
        self.told = threading.Event()

    def __call__(self) -> None:
        if self.told.is_set():
            self.told.clear()
            raise Fault("on purpose")


class FailingKlink:
    """Klink, which raises when it is told to."""

    gated: ClassVar[bool] = True

    def __init__(self, inner: Klink, raises: RaiseOnce) -> None:
        self._inner, self._raises = inner, raises
        self.confidence = inner.confidence

    def decide(self, seen: Snapshot) -> Decision:
        self._raises()
        return self._inner.decide(seen)


class RunningQueries:
    """The queries of a plan, and what may be done to them from inside."""

    def __init__(self, work: Path, rt: Any, plan: ChaosPlan) -> None:
        self.rt, self.order, self.policy_raises = rt, rt.order, rt.order._raises
        self.sinks = {name: RaiseOnce() for name in plan.names}
        for name, stream in plan.streams().items():
            self._start(work, name, stream, plan)

    def _start(self, work: Path, name: str, stream: Ysb, plan: ChaosPlan) -> None:
        from headway_lab.workloads.events import events

        late = keeps_late(name)
        settings: dict[str, Any] = {"late": str(plan_.side_table(work, name))} if late else {}
        if from_kafka(name):
            options = {"kafka.bootstrap.servers": str(plan.address), "subscribe": name, "startingOffsets": "earliest"}
            records = self.rt.spark.readStream.format("kafka").options(**options).load().select("value", "timestamp")
            rows, arrival = Ysb.parsed(records), "timestamp"
            # The broker may be away for any time: by rows alone nothing is late, by the clock late rows are kept.
            settings |= {} if late else {"idle_after": "never"}
        else:
            rows, arrival = events(self.rt.spark, stream, boot_ms=plan.boot_ms), "arrival"
        marked = self.rt.watermark(
            rows, "event_time", HASTY_MS if late else PATIENCE_MS, arrival=arrival, name=name, **settings
        )
        start_counting(self.rt, stream, marked, name, work, self.sinks[name], restart=RESTARTS)

    # ---- what may be ordered

    def policy_fails(self) -> None:
        if self.rt.status().policy != type(self.order).__name__:  # it has failed too often, and was replaced
            self.rt.use(self.order)
        self.policy_raises.told.set()
        _await(lambda: not self.policy_raises.told.is_set())

    def controller_fails(self) -> None:
        before = self.rt.status()
        if before.policy != type(self.order).__name__:
            self.rt.use(self.order)
        fail_controller(self.rt)
        _await(lambda: self.rt.status().controller_restarts > before.controller_restarts)

    def cut(self, names: list[str]) -> None:
        cut_lines(self.rt, names)

    def close_gate(self, seconds: float) -> None:
        self.rt.plane.gate.close()
        time.sleep(seconds)
        self.rt.plane.gate.open()

    def sink_fails(self, name: str) -> None:
        self.sinks[name].told.set()
        _await(lambda: not self.sinks[name].told.is_set())

    def unkept(self) -> dict[str, int]:
        """Late rows that could not be kept since this child began, by query."""
        return {c.query: c.rows for c in self.rt.late_counts() if c.reason == "unkept"}

    def standing(self) -> str:
        status = self.rt.status()
        return "; ".join(f"{q.name} {q.state} {q.error or ''}" for q in status.queries)


def child(work: Path) -> None:
    """Run the plan's queries and do as the parent says, until it says `stop`."""
    import headway as hw
    from headway_lab.jvm import JAR

    plan = ChaosPlan.read(work)
    spark = hw.session("headway-chaos", cores=2, memory="1g", kafka=plan.address is not None, jars=[JAR])
    order = FailingKlink(Klink(), RaiseOnce())
    with Client(str(work / "line"), "AF_UNIX") as line, hw.Runtime(spark, order, journal=_journal(work)) as rt:
        running = RunningQueries(work, rt, plan)
        line.send("running")
        while not rt.await_termination(0):
            if line.poll(0.1):
                what, args = line.recv()
                if what == "stop":
                    rt.stop()
                    line.send(None)
                    return
                try:
                    line.send(getattr(running, what)(*args))
                except TimeoutError as error:
                    line.send(error)


def _journal(work: Path) -> Path:
    return plan_.journal(work) / "journal.db"


def _await(done: Callable[[], bool], limit_s: float = 60) -> None:
    end = time.monotonic() + limit_s
    while not done():
        if time.monotonic() > end:
            raise TimeoutError("the fault did not take place")
        time.sleep(0.02)


if __name__ == "__main__":
    child(Path(sys.argv[2]))
