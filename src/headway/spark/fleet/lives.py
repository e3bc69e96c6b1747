"""The lives that a node knows: one of each query, under its epoch."""

import threading

from headway.fleet.incarnation import IncarnationMark
from headway.fleet.node.host import Declined, NotHosted
from headway.fleet.node.wire import NodeCommand
from headway.spark.fleet.incarnation import IncarnationFolder
from headway.spark.fleet.life import HostedLife, built
from headway.spark.fleet.pipelines import PipelineFiles
from headway.spark.runtime import Runtime


class HostedLives:
    """By the name of the query. Commands about one query come one after the other."""

    def __init__(self, rt: Runtime, node: str, run: str) -> None:
        """`run` tells this process of the node from those before it."""
        self._rt, self._node, self._run = rt, node, run
        self._files = PipelineFiles()
        self._lock = threading.Lock()
        self._lives: dict[str, HostedLife] = {}

    def all(self) -> list[HostedLife]:
        with self._lock:
            return list(self._lives.values())

    def made(self, folder: str) -> bool:
        """Whether this process has made this folder."""
        return any(life.folder == folder for life in self.all())

    def alive(self, life: HostedLife) -> bool:
        """It was started and runs, or is about to run again."""
        return life.serving and self._rt.launch.queries.supervisor.alive(life.name)

    def of(self, command: NodeCommand) -> HostedLife:
        """The one that a command is about."""
        life = self._lives.get(command.query)
        if life is None:
            raise NotHosted(f"query = {command.query!r}: expected one that this node hosts")
        if life.epoch != command.epoch:
            raise Declined(f"epoch = {command.epoch}: expected {life.epoch}, which is here")
        return life

    def begin(self, command: NodeCommand) -> HostedLife:
        """A new one, in place of one that has ended or was never started."""
        before = self._lives.get(command.query)
        if before is not None and before.epoch >= command.epoch:
            raise Declined(f"epoch = {command.epoch}: expected one above {before.epoch}, which is {before.state} here")
        if before is not None and self.alive(before):
            raise Declined(f"epoch {before.epoch} of {before.name!r} runs here: drain it first")
        if command.file is None or command.folder is None:
            raise Declined(f"{command.action} needs file and folder")
        # The file first: the folder of an unknown query would only be in the way.
        query = self._files.query(command.file, command.query, command.digest)
        if before is not None:
            self.forget(before)
        mark = IncarnationMark(command.query, command.epoch, self._node, self._run)
        made = IncarnationFolder(self._rt.spark, command.folder, mark)
        life = built(self._rt, query, command.epoch, command.file, made)
        with self._lock:
            self._lives[life.name] = life
        return life

    def at_hand(self, command: NodeCommand) -> HostedLife:
        """The one that was prepared under this epoch, or is prepared now."""
        life = self._lives.get(command.query)
        if life is None or life.epoch < command.epoch:
            return self.begin(command)
        if life.epoch > command.epoch:
            raise Declined(f"epoch = {command.epoch}: expected {life.epoch} or above, which is {life.state} here")
        if life.state not in ("prepared", "taken"):
            raise Declined(f"epoch {life.epoch} of {life.name!r} is {life.state} here: expected another epoch")
        return life

    def forget(self, life: HostedLife) -> None:
        life.let_go()
        self._rt.launch.forget(life.ready)
        with self._lock:
            if self._lives.get(life.name) is life:
                del self._lives[life.name]
