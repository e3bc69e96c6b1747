"""A real fleet under steady load, one fault after the other, and every window compared with the truth after each."""

import random
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

from headway.errors import HeadwayError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.orchestrator.wire import SubmitWanted
from headway_lab.experiments.fleet_faults.faults import FAULTS, NEEDS_FEWER, NEEDS_NAMESPACE
from headway_lab.experiments.fleet_faults.fenced_sink import FencedSinks
from headway_lab.experiments.fleet_faults.namespace import namespace
from headway_lab.experiments.fleet_faults.queries import FleetFaultPlan
from headway_lab.experiments.fleet_faults.scene import FaultDone, FaultScene
from headway_lab.experiments.fleet_faults.trial_fleet import NODES, ORCHESTRATORS, ZOOKEEPER, TrialFleet, standing
from headway_lab.harness.children import work_folder
from headway_lab.harness.file_sink import SinkTally, tally_all
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms

EXPERIMENT = "fleet-faults"
START_S, LOOK_S = 300.0, 0.5
MOST_PAUSE_S = 2.0  # before a fault: it comes at any moment of a batch


@dataclass(frozen=True, slots=True)
class LiveFault:
    """One fault of a live fleet, and what it has done to the sinks."""

    kind: str
    how: str
    recovered_s: float | None  # None: something was stuck
    tally: SinkTally  # of the windows that have come out since the fault before
    zombie_writes: int
    refused: int  # batches that the sinks' fence has kept out
    takeover_s: float | None = None
    outcome: str = ""
    trouble: str = ""

    @property
    def wrong(self) -> int:
        return self.tally.wrong + self.zombie_writes + (self.trouble != "")


@dataclass(frozen=True, slots=True)
class FleetFaultOutcome:
    """All of them, and what this machine or user does not allow."""

    happened: list[LiveFault]
    left_out: list[str]

    @property
    def wrong(self) -> int:
        return sum(one.wrong for one in self.happened)


class SinkLedger:
    """What the sinks had after the fault before."""

    def __init__(self, sinks: FencedSinks, plan: FleetFaultPlan) -> None:
        self._sinks, self._streams = sinks, plan.streams()
        self._before, self._zombies, self._refused = SinkTally(), 0, 0

    def since(self) -> tuple[SinkTally, int, int]:
        """Tally, zombie writes and refused batches since this was asked last."""
        total = tally_all(self._streams, self._sinks.rows(), min(self._sinks.newest().values()))
        zombies, refused = self._sinks.zombie_writes(), self._sinks.refused()
        more = SinkTally(*(now - then for now, then in zip(astuple(total), astuple(self._before), strict=True)))
        found = more, zombies - self._zombies, refused - self._refused
        self._before, self._zombies, self._refused = total, zombies, refused
        return found


def fleet_faults(
    kinds: Sequence[str],
    times: int,
    seed: int,
    say: Say,
    happened: Callable[[LiveFault | None], None],
    folder: Path | None = None,
) -> FleetFaultOutcome:
    """Each kind so many times, in turn. `happened` hears of each, and first of none. It ends at the first that is stuck.

    What a fault does differs with its number: the next seed goes on where this one has stopped.
    """
    numbers = range((seed - 1) * times, seed * times)
    with work_folder("headway-fleet-faults-", folder) as work, namespace(work) as apart:
        chosen = [kind for kind in kinds if kind != NEEDS_NAMESPACE or apart is not None]
        left_out = [kind for kind in kinds if kind not in chosen]
        fleet = TrialFleet(work.absolute(), apart)
        try:
            with _running(fleet, seed, say) as (scene, ledger):
                happened(None)
                return FleetFaultOutcome(_played(scene, ledger, chosen, numbers, say, happened), left_out)
        finally:
            fleet.end()


def _played(
    scene: FaultScene,
    ledger: SinkLedger,
    kinds: Sequence[str],
    numbers: range,
    say: Say,
    happened: Callable[[LiveFault | None], None],
) -> list[LiveFault]:
    done: list[LiveFault] = []
    for scene.number in numbers:
        for kind in kinds:
            done.append(_one(scene, ledger, kind, say))
            happened(done[-1])
            if done[-1].recovered_s is None:
                return done
    return done


def _one(scene: FaultScene, ledger: SinkLedger, kind: str, say: Say) -> LiveFault:
    """A fault, until all is as it was before."""
    say(f"{kind} {scene.number + 1}", 0.0)
    fault: FaultDone | None = None
    recovered, trouble, whole = None, "", False
    try:
        scene.await_whole(NEEDS_FEWER.get(kind, len(NODES)))
        time.sleep(scene.chance.uniform(0, MOST_PAUSE_S))
        with FAULTS[kind](scene) as fault:
            scene.go_on(max(fault.begun_ms, fault.since_ms))
            recovered = round((now_ms() - fault.begun_ms) / 1000, 3)
        scene.await_whole(min(NEEDS_FEWER.values()))
        scene.go_on(now_ms())
        whole = True
    except HeadwayError as error:
        trouble = str(error)
    how, takeover, outcome = ("", None, "") if fault is None else (fault.how, fault.takeover_s, fault.outcome)
    if fault is not None and fault.trouble:
        trouble = f"{fault.trouble} {trouble}".strip()
    tally, zombies, refused = ledger.since()
    return LiveFault(kind, how, recovered if whole else None, tally, zombies, refused, takeover, outcome, trouble)


@contextmanager
def _running(fleet: TrialFleet, seed: int, say: Say) -> Iterator[tuple[FaultScene, SinkLedger]]:
    """The fleet serves, and every query has put out a window."""
    say("ZooKeeper, two orchestrators and three Sparks", 0.0)
    for name in (ZOOKEEPER, *ORCHESTRATORS, *NODES):
        fleet.begin(name)
    with fleet.client() as client:
        _await_nodes(fleet, client)
        plan = FleetFaultPlan(seed, now_ms())
        plan.write(fleet.work)
        sinks = FencedSinks(fleet.work, plan.names)
        sinks.make()
        scene = FaultScene(fleet, client, sinks, random.Random(seed))
        for number, name in enumerate(plan.names):
            node, text = NODES[number % len(NODES)], plan.pipeline(fleet.work)
            receipt = client.ask("submit", SubmitWanted(secrets.token_hex(4), name, f"{EXPERIMENT}.py", text, node))
            if not receipt.accepted:
                raise HeadwayError(receipt.line)
        say("the first windows", 0.0)
        scene.await_whole()
        scene.go_on(now_ms())
        ledger = SinkLedger(sinks, plan)
        ledger.since()
        try:
            yield scene, ledger
        finally:
            scene.workers.shutdown(wait=False, cancel_futures=True)


def _await_nodes(fleet: TrialFleet, client: FleetClient) -> None:
    """As `scene.await_whole`, before there is a scene: a process that ends at once says why."""
    end = time.monotonic() + START_S
    while True:
        if fleet.ended:
            name = fleet.ended[0]
            raise HeadwayError(f"{name} has ended at once: {fleet.said(name)}")
        found = standing(client)
        if found is not None and {node.name for node in found.nodes if node.state == "serving"} == set(NODES):
            return
        if time.monotonic() > end:
            raise HeadwayError(f"the fleet does not serve within {START_S:g} s: see the logs in {fleet.work}")
        time.sleep(LOOK_S)
