"""A node: obeys instructions, hosts incarnations, reports once a second."""

from collections.abc import Callable, Mapping
from typing import Protocol

from headway.fleet.moves.messages import (
    CannotRun,
    DeleteFolders,
    DrainQuery,
    EndQuery,
    FoldersDeleted,
    Instruction,
    Outdated,
    Prepare,
    Prepared,
    ResumeQuery,
    RunFailed,
    StartQuery,
    TakeOver,
    WentOn,
)
from headway.fleet.orchestrator.messages import HostedIncarnation, NodeReport
from headway.sim.agenda import Agenda
from headway.sim.fleet_faults.network import Host, Network
from headway.sim.fleet_faults.primary import OrchestratorHost
from headway.sim.fleet_faults.runs import IncarnationRun, Reply, RunWorld
from headway.sim.fleet_faults.session import StoreClient
from headway.sim.fleet_faults.store import ModelStore
from headway.sim.fleet_faults.taking import Takeover

REPORT_MS, RETRY_MS = 1_000, 500


class NodeWorld(RunWorld, Protocol):
    """What a node needs of the world beside what its runs need."""

    agenda: Agenda
    network: Network
    store: ModelStore
    orchestrators: Mapping[str, OrchestratorHost]
    nodes_look_at_versions: bool  # False: whether anybody notices
    unfit: frozenset[tuple[str, str]]  # a query, and a node that says that it cannot run it
    whole: frozenset[str]  # queries whose state cannot be spread

    def delete(self, query: str, folder: str) -> None: ...


class ModelNode(Host):
    """A Spark application with an agent. When it dies, all that it hosts dies, and it remembers nothing."""

    def __init__(self, name: str, world: NodeWorld) -> None:
        super().__init__(name, world.agenda)
        self._world = world
        self.client = StoreClient(self, True, world.store, world.network, self)
        self._forget()

    def _forget(self) -> None:
        self.runs: dict[tuple[str, int], IncarnationRun] = {}
        self._versions: dict[str, int] = {}
        self._prepared: dict[str, bool] = {}  # by move: whether it is done
        self._reports = 0

    def start(self) -> None:
        super().start()
        self._forget()
        self.client.start()
        self._report()
        self._retry()

    # ---- the session

    def session_begins(self) -> None:
        """A query that ran under an earlier one finds out at its gate."""

    def session_ends(self) -> None:
        for run in self.runs.values():
            if run.state in ("taking", "ready"):
                run.over("the session is lost")

    def session_lives(self, leader: int) -> None:
        """Nodes do not stand for election."""

    # ---- instructions

    def obey(self, told: Instruction, reply: Reply) -> None:
        known = self._versions.get(told.query, 0)
        if told.version < known and self._world.nodes_look_at_versions:
            reply(Outdated(told.query, known))
            return
        self._versions[told.query] = max(known, told.version)
        match told:
            case Prepare():
                self._prepare(told, reply)
            case TakeOver():
                self._take_over(told, reply)
            case DeleteFolders(query=query, folders=folders):
                for folder in folders:
                    self._world.delete(query, folder)
                reply(FoldersDeleted(query, folders))
            case DrainQuery() | ResumeQuery() | StartQuery() | EndQuery():
                run = self.runs.get((told.query, told.epoch))
                if run is None:
                    reply(RunFailed(told.query, told.epoch, f"{self.name} does not know it"))
                else:
                    run.reply = reply
                    self._tell(run, told)

    def _tell(self, run: IncarnationRun, told: DrainQuery | ResumeQuery | StartQuery | EndQuery) -> None:
        match told:
            case DrainQuery():
                run.drain_for(told)
            case ResumeQuery(move=move):
                if run.spare():
                    run.reply(WentOn(run.query, move, run.epoch))
                else:
                    run.answer()
            case StartQuery(commits=commits):
                run.start(commits)
            case EndQuery(at_once=at_once):
                run.end("it was told to end", at_once)
                run.answer()

    def _prepare(self, told: Prepare, reply: Reply) -> None:
        if (told.query, self.name) in self._world.unfit:
            reply(CannotRun(told.query, told.move, "a class is missing"))
        elif told.partitions is not None and told.query in self._world.whole:
            reply(CannotRun(told.query, told.move, "its state cannot be spread"))
        elif self._prepared.get(told.move):
            reply(Prepared(told.query, told.move))
        elif told.move not in self._prepared:
            self._prepared[told.move] = False

            def prepared() -> None:
                self._prepared[told.move] = True
                reply(Prepared(told.query, told.move))

            self.later(self._world.dice.randrange(100, 1_500), prepared)

    def _take_over(self, told: TakeOver, reply: Reply) -> None:
        key = (told.query, told.epoch)
        run = self.runs.get(key)
        if run is None:
            if self.client.number is None:
                return  # it is asked again
            run = self.runs[key] = IncarnationRun(told, self, self.client, self._world, self._release)
        run.reply = reply
        if run.state == "taking":
            self._acquire(run)
        else:
            run.answer()

    def _acquire(self, run: IncarnationRun) -> None:
        """Asked for again as long as there is no answer; the first answer counts."""
        session, store = run.session, self._world.store
        if session is None or run.granted is not None:
            return

        def answered(granted: bool) -> None:
            if run.state != "taking" or run.granted is not None:
                return
            run.granted = granted
            if granted:
                Takeover(run, self._world).begin()
            else:
                run.over("the lease is not to be had")

        self.client.call(lambda: store.acquire(session, run.query, run.epoch), answered)

    def _release(self, run: IncarnationRun) -> None:
        """Until the store has answered, or the session is over anyway."""
        session, store = run.session, self._world.store
        if run.released:
            return
        if session is None or self.client.number != session:
            self._released(run)
            return
        self.client.call(lambda: store.release(session, run.query, run.epoch), lambda _: self._released(run))

    def _released(self, run: IncarnationRun) -> None:
        if not run.released:
            run.released = True
            run.answer()

    def _retry(self) -> None:
        self.later(RETRY_MS, self._retry)
        for run in list(self.runs.values()):
            if run.state == "over" and not run.released:
                self._release(run)

    def _report(self) -> None:
        self.later(REPORT_MS, self._report)
        self._reports += 1
        hosted: dict[str, HostedIncarnation] = {}
        for (query, epoch), run in self.runs.items():
            if run.state in ("running", "draining"):
                hosted[query] = HostedIncarnation(epoch, run.commits)
        report = NodeReport(self.name, self.boot, self._reports, hosted)
        for name, orchestrator in self._world.orchestrators.items():
            self._world.network.send(self.name, name, _telling(orchestrator, report))


def _telling(orchestrator: OrchestratorHost, report: NodeReport) -> Callable[[], None]:
    return lambda: orchestrator.run(orchestrator.boot, lambda: orchestrator.tell(report))
