"""What outlives every process: the sink, and the folders of checkpoints. And what was tried against them."""

from dataclasses import dataclass, field

from headway.fleet.moves.folders import FolderSeen


@dataclass(slots=True)
class PlannedRows:
    """What a batch reads: rows from `start` to before `end`, counted from the first there ever was."""

    start: int
    end: int


@dataclass(slots=True)
class CheckpointFolder:
    """One incarnation's checkpoint. `absorbed` is what its state is made of: of rows up to `upto`, so many went in."""

    complete: bool = False
    closed: bool = False  # a later incarnation has begun to copy it
    planned: dict[int, PlannedRows] = field(default_factory=dict)
    committed: int = -1
    upto: int = 0
    absorbed: int = 0
    own_commits: int = 0  # of this incarnation, not copied
    partitions: int = 1  # over so many the state is spread

    def seen(self, name: str) -> FolderSeen:
        return FolderSeen(name, self.complete, max(self.planned, default=-1), self.committed)


@dataclass(slots=True)
class WrittenBatch:
    batch: int
    epoch: int
    rows: PlannedRows


class ModelSink:
    """A table that remembers the last batch and the epoch, and looks at both in the transaction of the rows themselves."""

    def __init__(self, checks_epoch: bool) -> None:
        self._checks_epoch = checks_epoch
        self.epoch = 0
        self.batches: list[WrittenBatch] = []
        self.refused = 0  # writes of an older epoch
        self.again = 0  # writes of a batch that was there
        self.wrong: list[str] = []  # what can never be put right

    @property
    def upto(self) -> int:
        return self.batches[-1].rows.end if self.batches else 0

    def raise_epoch(self, epoch: int) -> bool:
        """False if a later one was there already."""
        if epoch < self.epoch:
            return False
        self.epoch = epoch
        return True

    def write(self, epoch: int, batch: int, rows: PlannedRows) -> bool:
        """False if it is refused."""
        if epoch < self.epoch:
            if self._checks_epoch:
                self.refused += 1
                return False
            self.wrong.append(f"epoch {epoch} wrote batch {batch} when epoch {self.epoch} was there")
        if self.batches and batch <= self.batches[-1].batch:
            self.again += 1
            there = next((one.rows for one in self.batches if one.batch == batch), None)
            if there != rows:
                self.wrong.append(f"batch {batch} is there with rows {there}, and came again with {rows}")
            return True
        if rows.start != self.upto:  # numbers may be left out: a batch that spreads the state has no rows, and no sink
            self.wrong.append(f"batch {batch} has rows from {rows.start}, and the sink has rows up to {self.upto}")
        self.batches.append(WrittenBatch(batch, epoch, rows))
        return True


class ModelDisk:
    """All folders and sinks, by name."""

    def __init__(self, queries: tuple[str, ...], checks_epoch: bool) -> None:
        self.sinks = {query: ModelSink(checks_epoch) for query in queries}
        self.folders: dict[str, CheckpointFolder] = {}
        self.refused = 0  # files that an older incarnation was not let make
        self.deleted: list[str] = []

    def folder(self, name: str) -> CheckpointFolder:
        """As it is; empty where it is not."""
        return self.folders.setdefault(name, CheckpointFolder())

    def delete(self, name: str) -> None:
        if self.folders.pop(name, None) is not None:
            self.deleted.append(name)
