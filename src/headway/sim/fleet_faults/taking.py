"""How an incarnation comes to its folder: the lease is there; then the epoch, then the copy; and then it may start."""

from headway.errors import HeadwayError
from headway.fleet.moves.folders import copy_basis
from headway.sim.fleet_faults.disk import PlannedRows
from headway.sim.fleet_faults.runs import IncarnationRun, RunWorld

LAUNCH_MS = 10_000  # a lease without a start for so long is given back
SPREAD_MS = 3_000  # at most, for the state over other partitions


class Takeover:
    """Of one incarnation, step by step."""

    def __init__(self, run: IncarnationRun, world: RunWorld) -> None:
        self._run, self._world = run, world

    def begin(self) -> None:
        self._run.host.later(LAUNCH_MS, self._give_up)
        self._run.later(2, 40, self._raise)

    def _give_up(self) -> None:
        if self._run.state in ("taking", "ready"):
            self._run.over("it was never started")

    def _raise(self) -> None:
        """First of all: from then on the sink can only be ahead of the folders by what is in their logs."""
        run, disk = self._run, self._world.disk
        if not disk.sinks[run.query].raise_epoch(run.epoch):
            run.over("a later epoch is there")
            return
        for name in run.told.folders:
            disk.folder(name).closed = True
        run.later(2, 300, self._copy)

    def _copy(self) -> None:
        run, disk, told = self._run, self._world.disk, self._run.told
        if (run.query, run.host.name) in self._world.broken:
            run.over("the folder cannot be made")
            return
        try:
            plan = copy_basis(run.query, [disk.folder(name).seen(name) for name in told.folders], told.fresh)
        except HeadwayError as error:
            run.over(str(error))
            return
        own = run.folder
        if plan.state_from is not None:
            state = disk.folder(plan.state_from)
            own.committed, own.upto, own.absorbed = state.committed, state.upto, state.absorbed
            own.partitions = state.partitions
        if plan.planned_from is not None and self._world.plans_come_along:
            batch = own.committed + 1
            own.planned[batch] = disk.folder(plan.planned_from).planned[batch]
        if told.partitions is None:
            run.later(2, 300, self._complete)
        else:
            run.later(2, SPREAD_MS, self._spread)

    def _spread(self) -> None:
        """By a batch without rows, which is planned and committed at one stroke: until it is, the folder is not complete."""
        run, own = self._run, self._run.folder
        batch = own.committed + 1
        if run.state != "taking":
            return
        if batch in own.planned and self._world.spreads_between_batches:
            run.over(f"batch {batch} is not done: the state cannot be spread")
            return
        own.planned[batch] = PlannedRows(own.upto, own.upto)
        own.committed, own.partitions = batch, run.told.partitions or 1
        self._complete()

    def _complete(self) -> None:
        run = self._run
        if run.state != "taking":
            return
        run.folder.complete = True
        run.state = "ready"
        if run.told.commits is None:
            run.answer()
        else:
            run.start(run.told.commits)
