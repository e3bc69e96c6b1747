"""The folder of an incarnation, made out of an earlier one's: the least that is needed, and checked before the query starts.

A driver that still writes into the earlier folder, because it was frozen and does not know better, changes nothing here.
Files of the state never change once they are there, so on one local disk the copy has them by hard links, and takes as long
for a large state as for a small one.
"""

import contextlib
import io
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError

from headway.errors import HeadwayError, SettingError
from headway.fleet.incarnation import MARK, CopyPlan, IncarnationMark, Sizes, least, mark_in
from headway.spark.checkpoint.contents import contents
from headway.spark.checkpoint.folder import Folder, HadoopFolder, LocalFolder, folder_of
from headway.spark.checkpoint.repartition import check_offered, possible, repartition

QUERY_ID = "metadata"  # what Spark reads before anything else, and what never changes
AT_ONCE = 8  # files that are copied side by side where each takes a round trip or more


class IncompleteCopy(HeadwayError):
    """What is there is not enough to go on from."""


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What a new incarnation goes on from."""

    origin: str | None = None  # None: it begins from nothing
    batch: int | None = None  # the last that is committed
    begun: int | None = None
    files: int = 0
    bytes: int = 0


class IncarnationFolder:
    """The checkpoint of one incarnation, being made."""

    def __init__(self, spark: Any, place: str, mark: IncarnationMark) -> None:
        """Raises a HeadwayError if another process makes this folder, or has made it."""
        self._spark, self.place, self._mark = spark, place, mark
        self._folder = folder_of(spark, place)
        self.ahead_of: tuple[str, int] | None = None  # whose state is here before it is taken over, and of which batch
        if not self._folder.put(MARK, mark.text, new=True):
            found = mark_in(self._folder.read(MARK))
            if found is None or not found.is_of(mark):
                whose = "another incarnation" if found is None else f"epoch {found.epoch} of {found.query!r} on {found.node}"
                raise HeadwayError(f"folder = {place!r}: expected one that is not there yet, this is of {whose}")

    def ahead(self, origins: Iterable[str]) -> int:
        """Copy what may be copied while the query still runs; what is missing then is no trouble. Returns bytes."""
        found = newest_complete(self._spark, origins)
        if found is None:
            return 0
        named, origin = found
        there, have = origin.sizes(), self._folder.sizes()
        with contextlib.suppress(IncompleteCopy, OSError, Py4JJavaError):  # Spark tidies up in a folder that is in use
            plan = least(there, partial(shared_files, origin), frozenset(have))
            state = [name for name in plan.files if name.startswith("state/")]
            self._copy(origin, {name: there[name] for name in (QUERY_ID, *state) if name in there}, have)
            if plan.batch is not None and not plan.missing:
                self.ahead_of = named, plan.batch
            return sum(there[name] for name in state)
        return 0

    @property
    def named(self) -> bool:
        """The query's id is there, by which Spark knows it."""
        return QUERY_ID in self._folder.names()

    def continues(self, taken: TakenOver) -> bool:
        """Whether what was copied ahead, if anything was, is an earlier state of what was taken over."""
        if self.ahead_of is None:
            return True
        origin, batch = self.ahead_of
        return taken.origin == origin and taken.batch is not None and taken.batch >= batch

    def complete(self, origins: Iterable[str], batch: int | None = None) -> TakenOver:
        """The newest of the origins that is complete, as a copy that was looked at; `batch` must be committed in it."""
        return self.sealed(self.copied(origins, batch))

    def copied(self, origins: Iterable[str], batch: int | None = None) -> TakenOver:
        """The same, but not called complete yet."""
        found = newest_complete(self._spark, origins)
        taken = TakenOver()
        if found is not None:
            taken = self._taken(*found)
        if batch is not None and (taken.batch is None or taken.batch < batch):
            raise IncompleteCopy(f"batch {batch} is not committed in {taken.origin or 'any of the origins'}")
        return taken

    def spread(self, partitions: int, taken: TakenOver) -> TakenOver:
        """The state of the copy over so many partitions. Spark adds a batch without input for that."""
        done = repartition(self._spark, self.place, partitions)
        for operator in (name for name in self._folder.names("state") if name.isdigit()):
            for beyond in self._folder.names(f"state/{operator}"):  # what a merge has left: it is not read any more
                if beyond.isdigit() and int(beyond) >= partitions:
                    self._folder.delete(f"state/{operator}/{beyond}")
        again = least(self._folder.sizes(), partial(shared_files, self._folder))
        if again.missing:
            raise IncompleteCopy(f"{self.place} lacks {_some(again.missing)}, now that it has {partitions} partitions")
        return replace(taken, batch=done.batch, begun=done.batch)

    def sealed(self, taken: TakenOver) -> TakenOver:
        """From now on it may be started, and taken over from."""
        self._folder.put(MARK, self._mark.completed(taken.origin).text, new=False)
        return taken

    def _taken(self, place: str, origin: Folder) -> TakenOver:
        there, have = origin.sizes(), self._folder.sizes()
        plan = least(there, partial(shared_files, origin), frozenset(have))
        if plan.missing:
            raise IncompleteCopy(f"{place} lacks {_some(plan.missing)}")
        wanted = {name: there[name] for name in plan.files}
        self._copy(origin, wanted, have)
        self._verify(plan, wanted)
        return TakenOver(place, plan.batch, plan.begun, len(wanted), sum(wanted.values()))

    def _copy(self, origin: Folder, wanted: Sizes, have: Sizes) -> None:
        names = sorted(name for name in wanted if have.get(name) != wanted[name] or not name.startswith("state/"))
        if isinstance(origin, LocalFolder) and isinstance(self._folder, LocalFolder):
            for name in names:
                _copied_here(origin.path / name, self._folder.path / name, linked=_never_changes(name))
            return
        source, target = _by_hadoop(self._spark, origin), _by_hadoop(self._spark, self._folder)
        with ThreadPoolExecutor(AT_ONCE) as workers:
            list(workers.map(lambda name: source.copy(name, target), names))

    def _verify(self, plan: CopyPlan, wanted: Sizes) -> None:
        """Look at what is there now, and leave nothing that does not belong there."""
        have = self._folder.sizes()
        if lost := [name for name in sorted(wanted) if have.get(name) != wanted[name]]:
            raise IncompleteCopy(f"{self.place} has not got {_some(lost)}")
        for name in have.keys() - wanted.keys():
            if not name.rpartition("/")[2].startswith("."):
                self._folder.delete(name)
        again = least(wanted, partial(shared_files, self._folder))
        if again.missing or (again.batch, again.begun) != (plan.batch, plan.begun):
            raise IncompleteCopy(f"{self.place} is not what it was copied from: it lacks {_some(again.missing)}")


def newest_complete(spark: Any, origins: Iterable[str]) -> tuple[str, Folder] | None:
    """Of checkpoints, oldest first, the last that something can be taken over from."""
    for place in reversed(list(origins)):
        folder = folder_of(spark, place)
        if can_be_taken(folder.read(MARK), folder.names()):
            return place, folder
    return None


def can_be_taken(text: str | None, names: Iterable[str]) -> bool:
    """Whether a folder with this mark and these names is a checkpoint that is complete; one of Spark's own has no mark."""
    mark = mark_in(text)
    return (text is None or (mark is not None and mark.complete)) and QUERY_ID in names


def check_spread(spark: Any, origins: Iterable[str], partitions: int) -> None:
    """Raises a SettingError if the state of a query, which may be running, cannot be spread over so many partitions."""
    check_offered(spark)
    found = newest_complete(spark, origins)
    if found is None:
        raise SettingError("partitions", partitions, "a query that has a checkpoint")
    possible(contents(found[1], found[0]), found[0], partitions)


def replaced_by(spark: Any, place: str, query: str, epoch: int, known: set[str]) -> IncarnationMark | None:
    """A complete incarnation of this query beside it that is newer. `known` are those that need no second look."""
    parent, _, own = place.rstrip("/").rpartition("/")
    if not parent:
        return None
    folder = folder_of(spark, parent)
    for name in folder.names():
        if name == own or name in known:
            continue
        mark = mark_in(folder.read(f"{name}/{MARK}"))
        if mark is not None and mark.query == query and mark.epoch > epoch:
            if mark.complete:
                return mark
        else:
            known.add(name)
    return None


def deleted(spark: Any, places: Iterable[str], query: str, before: int) -> list[str]:
    """Delete folders of incarnations of this query before that epoch. Others, and checkpoints without a mark, are left."""
    gone = []
    for place in places:
        folder = folder_of(spark, place)
        mark = mark_in(folder.read(MARK))
        if mark is not None and mark.query == query and mark.epoch < before:
            folder.delete("")
            gone.append(place)
    return gone


def shared_files(folder: Folder, name: str) -> frozenset[str]:
    """The files that a snapshot of RocksDB needs besides itself, by its own word: their names below its store."""
    try:
        with zipfile.ZipFile(io.BytesIO(folder.read_bytes(name))) as packed:
            text = packed.read("metadata").decode("utf-8")
        said = json.loads(text[text.index("{") :])
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise IncompleteCopy(f"{name} cannot be read: {error}") from None
    places = (("sstFiles", "SSTs"), ("logFiles", "logs"))
    return frozenset(
        f"{below}/{value}"
        for listed, below in places
        for file in said.get(listed) or ()
        for key, value in file.items()
        if key.startswith("dfs")
    )


def _copied_here(source: Path, target: Path, linked: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    half.unlink(missing_ok=True)
    copy: Callable[[Path, Path], object] = os.link if linked else shutil.copy2
    try:
        copy(source, half)
    except FileNotFoundError:
        return  # Spark tidies up in a folder that is in use; where it matters, the copy is looked at
    except OSError:
        if not linked:
            raise
        shutil.copy2(source, half)  # another disk, or one that has no links
    half.replace(target)


def _never_changes(name: str) -> bool:
    return name.startswith("state/") and not any(part.startswith("_") for part in name.split("/"))


def _by_hadoop(spark: Any, folder: Folder) -> HadoopFolder:
    if isinstance(folder, HadoopFolder):
        return folder
    assert isinstance(folder, LocalFolder)
    return HadoopFolder(spark, folder.path.absolute().as_uri())


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")
