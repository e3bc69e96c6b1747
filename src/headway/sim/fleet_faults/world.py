"""A schedule played in virtual time: the live orchestrators, and models of everything that they cannot trust."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from headway.fleet.moves.contract import UPGRADE_TRIAL, MoveContract
from headway.fleet.moves.record import Phase
from headway.fleet.orchestrator.asks import NOT_PRIMARY
from headway.fleet.orchestrator.messages import AskAnswered, MoveAsked, QuerySubmitted, StopAsked
from headway.sim.agenda import Agenda
from headway.sim.fleet_faults.disk import ModelDisk
from headway.sim.fleet_faults.network import Network
from headway.sim.fleet_faults.node import ModelNode
from headway.sim.fleet_faults.primary import OrchestratorHost
from headway.sim.fleet_faults.runs import IncarnationRun
from headway.sim.fleet_faults.schedule import FleetAction, FleetSchedule
from headway.sim.fleet_faults.store import ModelStore, StoreRules

CALM_MS = 40_000  # after the schedule's end: the time in which everything must be well again
CLIENT, AGAIN_MS = "client", 1_000
SILENT_MS = 9_000  # from then on a silent query gets no rows
ROWS_PER_S = 10
FAILED_BEHIND, HANGS = "fails-in-", "hangs"


@dataclass(frozen=True, slots=True)
class FleetRules:
    """What the world and the node see to. A test switches one off, and looks whether the laws notice."""

    store: StoreRules = StoreRules()
    sink_looks_at_epochs: bool = True
    nodes_look_at_versions: bool = True
    plans_come_along: bool = True
    silence_is_no_death: bool = True
    spreads_between_batches: bool = True


class FaultyFleet:
    """Plays one schedule. `wrong` fills with what may never happen; the laws of the end are in `fault_laws.py`."""

    def __init__(self, schedule: FleetSchedule, rules: FleetRules | None = None) -> None:
        self.schedule, self.rules = schedule, rules or FleetRules()
        self.agenda, self.dice = Agenda(), Random(schedule.seed)
        self.network = Network(self.agenda, Random(f"{schedule.seed}/network"))
        self.store = ModelStore(self.agenda, self.rules.store)
        self.disk = ModelDisk(schedule.query_names, self.rules.sink_looks_at_epochs)
        self.plans_come_along = self.rules.plans_come_along
        self.nodes_look_at_versions = self.rules.nodes_look_at_versions
        self.spreads_between_batches = self.rules.spreads_between_batches
        self.wrong: list[str] = []
        last = max((a["at"] + a.get("ms", a.get("down", 0)) for a in schedule.actions), default=0)
        self.end_ms = int(max(schedule.length_ms, last)) + CALM_MS
        self.orchestrators: Mapping[str, OrchestratorHost] = {
            name: OrchestratorHost(name, self.agenda, self.network, self.store) for name in ("o0", "o1")
        }
        self.nodes = {name: ModelNode(name, self) for name in schedule.node_names}
        self.broken, self.unfit = frozenset(schedule.broken), frozenset(schedule.unfit)
        self.whole = frozenset(schedule.whole)
        self._hosts: Mapping[str, OrchestratorHost | ModelNode] = {**self.orchestrators, **self.nodes}
        for host in self._hosts.values():
            host.start()
        for orchestrator in self.orchestrators.values():
            orchestrator.nodes = self.nodes
            orchestrator.takes_silence_for_death = not self.rules.silence_is_no_death
        for query in schedule.query_names:
            self._ask(QuerySubmitted(f"submit-{query}", query, f"{query}.py"))
        for action in schedule.actions:
            self.agenda.at(action["at"], lambda action=action: self._do(action))  # type: ignore[misc]

    def play(self) -> None:
        clock, agenda = self.agenda.clock, self.agenda
        while (soon := agenda.next_at) is not None and soon <= self.end_ms:
            clock.at = soon
            agenda.run_due()

    def answers(self) -> list[AskAnswered]:
        return [answer for host in self.orchestrators.values() for answer in host.answers]

    # ---- what nodes and runs ask

    def rows_there(self, query: str) -> int:
        silent = query in self.schedule.query_names[: self.schedule.silent]
        return (min(self.agenda.clock.at, SILENT_MS) if silent else self.agenda.clock.at) * ROWS_PER_S // 1_000

    def dies_in(self, pipeline: str) -> int | None:
        if pipeline.endswith(HANGS):
            return 0
        return int(pipeline.rpartition(FAILED_BEHIND)[2]) if FAILED_BEHIND in pipeline else None

    def batch_begins(self, run: IncarnationRun) -> None:
        """A node that is sure of its lease has it, unless its clock stood still: then there is the epoch."""
        if not run.host.clock_stood_still and self.store.holder(run.query) != (run.session, run.epoch):
            self.wrong.append(f"epoch {run.epoch} of {run.query} began a batch on {run.host.name} without the lease")
        if run.folder.absorbed != run.folder.upto:
            self.wrong.append(
                f"epoch {run.epoch} of {run.query} has lost state: {run.folder.absorbed} of {run.folder.upto} rows"
            )
        if run.told.partitions not in (None, run.folder.partitions):
            self.wrong.append(f"epoch {run.epoch} of {run.query} began before its state was in {run.told.partitions} parts")

    def ends_for(self, run: IncarnationRun, move: str) -> None:
        """No query ends for a move that was undone: it would run nowhere, and no record would say why."""
        record = self.store.records[run.query].record
        current = record.here is not None and record.here.epoch == run.epoch
        if current and (record.move is None or record.move.id != move):
            self.wrong.append(f"epoch {run.epoch} of {run.query} ended on {run.host.name} for {move}, which is over")

    def delete(self, query: str, folder: str) -> None:
        """Only what a later incarnation has made superfluous, by a commit of its own; or all, once the query is stopped."""
        record = self.store.records[query].record
        forgotten = record.stop is not None and record.stop.forget and record.phase is Phase.STOPPED
        later = (
            f for name, f in self.disk.folders.items() if name.startswith(f"{query}/") and _epoch(name) > _epoch(folder)
        )
        if folder in self.disk.folders and not forgotten and not any(f.own_commits for f in later):
            self.wrong.append(f"{folder} was deleted before a later incarnation had committed")
        self.disk.delete(folder)

    # ---- what happens

    def _do(self, action: FleetAction) -> None:
        match action["do"]:
            case "kill":
                self._kill(action["who"], action["down"])
            case "freeze":
                self._hosts[action["who"]].freeze(action["ms"], action["clock"])
            case "cut":
                self.network.cut(action["who"], action["whom"], action["ms"])
            case "store":
                self.store.away = True
                self.agenda.at(self.agenda.clock.at + action["ms"], self.store.back)
            case "crowd":
                self.network.crowd(action["ms"])
            case "fail":
                self._fail(action["query"])
            case "move" | "upgrade":
                for _ in range(action["times"]):
                    self._ask(self._request(action))
            case "stop":
                self._ask(StopAsked(action["id"], action["query"], action["forget"]))
                if action.get("again") is not None:
                    self.agenda.at(action["at"] + action["again"], lambda: self._resubmit(action, 0))

    def _resubmit(self, action: FleetAction, tries: int) -> None:
        """Until it is taken: a query that is being stopped is not."""
        name, accepted = f"{action['id']}-again", [answer.id for answer in self.answers() if answer.accepted]
        if any(id.startswith(name) for id in accepted):
            return
        if action["id"] in accepted:  # else it would be taken for the query that still runs
            self._ask(QuerySubmitted(f"{name}-{tries}", action["query"], f"{action['query']}.py"))
        if self.agenda.clock.at < self.end_ms - CALM_MS // 2:
            self.agenda.at(self.agenda.clock.at + 2 * AGAIN_MS, lambda: self._resubmit(action, tries + 1))

    def _kill(self, name: str, down_ms: int) -> None:
        host = self._hosts[name]
        if host.up:
            host.kill()
            self.agenda.at(self.agenda.clock.at + down_ms, host.start)

    def _fail(self, query: str) -> None:
        for node in self.nodes.values():
            for run in node.runs.values():
                if node.up and run.query == query and run.state == "running":
                    node.run(node.boot, lambda run=run: run.end("the schedule says so"))  # type: ignore[misc]

    def _request(self, action: FleetAction) -> MoveAsked:
        on_timeout = "force" if action["force"] else "rollback"
        if action["do"] == "move":
            spread = action.get("partitions")
            contract = MoveContract(action["timeout"], on_timeout, partitions=spread)  # type: ignore[arg-type] # one of two
            return MoveAsked(action["id"], action["query"], action["node"], "it was asked for", contract)
        suffix = f"{FAILED_BEHIND}{action['fails']}" if "fails" in action else HANGS if action.get("hangs") else "sound"
        pipeline = f"{action['query']}-{action['id']}-{suffix}"
        contract = MoveContract(action["timeout"], on_timeout, UPGRADE_TRIAL)  # type: ignore[arg-type]
        return MoveAsked(action["id"], action["query"], action["node"], "an upgrade was asked for", contract, pipeline)

    def _ask(self, asked: MoveAsked | QuerySubmitted | StopAsked) -> None:
        """Of both orchestrators, since it is not known which is the primary; again until one of them has answered."""
        if any(answer.id == asked.id and answer.line != NOT_PRIMARY for answer in self.answers()):
            return
        for name, host in self.orchestrators.items():
            self.network.send(CLIENT, name, lambda host=host: host.run(host.boot, lambda: host.tell(asked)))  # type: ignore[misc]
        if self.agenda.clock.at < self.end_ms - CALM_MS:
            self.agenda.at(self.agenda.clock.at + AGAIN_MS, lambda: self._ask(asked))


def _epoch(folder: str) -> int:
    return int(folder.rpartition("-")[2])
