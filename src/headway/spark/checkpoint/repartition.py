"""Spreads the state of a stopped query over another number of partitions, by Spark's own means.

Spark logs the offsets of a batch of its own before it looks whether it can do the work; where it cannot, the checkpoint no
longer starts. So everything is looked at first; and if Spark fails all the same, what it has written is taken away again.
"""

import os
from dataclasses import dataclass
from typing import Any

from headway.errors import HeadwayError, SettingError, aloud
from headway.lease.keeper import Keeper
from headway.lease.port import Lease
from headway.loop.trouble import says
from headway.spark.checkpoint.contents import ROCKSDB, Contents, contents
from headway.spark.checkpoint.folder import Folder, folder_of
from headway.spark.lease import SessionLeasing

FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
FORMATS = (1, 2)  # of commits, which Spark knows to write anew
OURS = ".headway."  # names of our own files begin so


@dataclass(frozen=True, slots=True)
class Repartitioned:
    """What was done."""

    before: int
    after: int
    batch: int  # the number of the batch that holds the state as it is now
    operators: int


def repartition(spark: Any, place: str, partitions: int) -> Repartitioned:
    """Raises a SettingError, and leaves every byte as it was, if this checkpoint cannot be repartitioned now."""
    if partitions < 1:
        raise SettingError("partitions", partitions, "1 or more")
    check_offered(spark)
    folder = folder_of(spark, place)
    checked(contents(folder, place), place, partitions)  # before anything is written, and be it a lease
    lease = SessionLeasing(spark).acquire(place, f"`headway checkpoint repartition` of process {os.getpid()}")
    kept = Keeper(lease, place, on_lost=lambda holder: aloud(f"{holder} has taken over {place} while it was repartitioned"))
    try:
        seen = checked(contents(folder, place), place, partitions)  # a batch may have run before the lease was ours
        _rewrite(spark, place, partitions, folder, seen, lease)
        now = contents(folder, place)
        return Repartitioned(seen.partitions or 0, partitions, now.begun, len(seen.operators))
    finally:
        kept.release()


def check_offered(spark: Any) -> None:
    """Raises a SettingError for a Spark that cannot do this at all."""
    if not hasattr(type(spark), "_streamingCheckpointManager"):
        raise SettingError("spark", f"Spark {spark.version}", "one that can repartition a checkpoint, such as 4.3")


def possible(seen: Contents, place: str, partitions: int) -> Contents:
    """Whether it can be done when the query stands, as far as that can be seen while it runs."""
    _able(seen, place)
    if seen.partitions == partitions:
        raise SettingError("partitions", partitions, f"another number than the {partitions} that it has")
    return seen


def checked(seen: Contents, place: str, partitions: int) -> Contents:
    """Check what Spark itself checks only after it has changed the checkpoint."""
    _able(seen, place)
    if seen.begun == seen.done:
        return possible(seen, place, partitions)
    if seen.wanted == seen.partitions:
        want = f"one whose last batch is done: batch {seen.begun} is not; start the query, then stop it with rt.stop()"
        raise SettingError("checkpoint", place, want)
    if seen.wanted != partitions:
        raise SettingError("partitions", partitions, f"{seen.wanted}, to which it was begun to be repartitioned before")
    return seen


def _able(seen: Contents, place: str) -> None:
    def refuse(want: str) -> SettingError:
        return SettingError("checkpoint", place, want)

    if not seen.operators:
        raise refuse("a query with state: this one has none, and runs with any number of partitions")
    if seen.provider != ROCKSDB:
        raise refuse(f"state in RocksDB: Spark can repartition no other, and this is {seen.provider_name} ({seen.provider})")
    if seen.done is None:
        raise refuse("a query that has committed a batch: this one has not")
    if not seen.described or seen.partitions is None:
        raise refuse("state with Spark's metadata beside it: run the query once with Spark 4 and stop it")
    if seen.commits not in FORMATS:
        raise refuse(f"commits of format 1 or 2: these are of format {seen.commits}")


def _rewrite(spark: Any, place: str, partitions: int, folder: Folder, seen: Contents, lease: Lease) -> None:
    before = folder.files()
    kept = spark.conf.get(FORMAT, None)
    spark.conf.set(FORMAT, str(seen.commits))
    try:
        spark._streamingCheckpointManager.repartition(place, partitions)
    except Exception as error:
        text = f"{place} could not be repartitioned: {says(error)}"
        if not lease.sure():  # what is new there may be another process's
            raise HeadwayError(f"{text}; since the lease is in doubt, nothing was taken back") from error
        for name in sorted(folder.files() - before):
            if not name.startswith(OURS):
                folder.delete(name)
        raise HeadwayError(f"{text}; it is as it was") from error
    finally:
        spark.conf.unset(FORMAT) if kept is None else spark.conf.set(FORMAT, kept)
