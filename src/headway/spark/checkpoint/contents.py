"""What is in a checkpoint, read from Spark's own logs in it."""

import json
from dataclasses import dataclass
from typing import Any

from headway.errors import SettingError
from headway.spark.checkpoint.folder import Folder

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


@dataclass(frozen=True, slots=True)
class Contents:
    """Of a query that has run at least one batch, or has begun one. Unknown is None."""

    query: str | None  # its id
    begun: int  # the last batch whose offsets are written down
    done: int | None  # the last one that is committed
    watermark_ms: int | None  # as the next batch will have it
    partitions: int | None  # of the state, by the last batch that is committed
    wanted: int | None  # by the last one that was begun: another number if a repartition was broken off
    provider: str | None  # the class of the state store
    operators: tuple[str, ...]  # those with state, by their numbers
    described: bool  # each of them has its metadata, without which Spark rewrites nothing
    commits: int  # the format of the commit log

    @property
    def provider_name(self) -> str:
        return "unknown" if self.provider is None else self.provider.rpartition(".")[2].removesuffix("StateStoreProvider")


def contents(folder: Folder, place: str) -> Contents:
    """Raises a SettingError if that is no checkpoint. Nothing is written."""
    names = folder.names()
    begun = _last(folder, "offsets")
    if "metadata" not in names and begun is None:
        raise SettingError("checkpoint", place, "the folder of a checkpoint: this has no metadata and no offsets of Spark's")
    if begun is None:
        raise SettingError("checkpoint", place, "a query that has begun a batch: this one has not")
    done = _last(folder, "commits")
    last, settled = _offsets(folder, begun), _offsets(folder, begun if done is None else done)
    version, commit = _logged(folder, f"commits/{done}") if done is not None else (1, {})
    operators = tuple(sorted((n for n in folder.names("state") if n.isdigit()), key=int))
    conf = settled.get("conf", {})
    watermark = commit.get("nextBatchWatermarkMs") or last.get("batchWatermarkMs") or None
    return Contents(
        query=_logged_id(folder), begun=begun, done=done, watermark_ms=watermark, partitions=_whole(conf.get(PARTITIONS)),
        wanted=_whole(last.get("conf", {}).get(PARTITIONS)), provider=conf.get(PROVIDER), operators=operators,
        described=all(_described(folder, operator) for operator in operators), commits=version,
    )  # fmt: skip


def _last(folder: Folder, log: str) -> int | None:
    return max((int(name) for name in folder.names(log) if name.isdigit()), default=None)


def _offsets(folder: Folder, batch: int) -> dict[str, Any]:
    return _logged(folder, f"offsets/{batch}")[1]


def logged_conf(folder: Folder, batch: int) -> dict[str, str]:
    """Settings that a run which goes on from this batch keeps, whatever its session says."""
    return dict(_offsets(folder, batch).get("conf") or {})


def _logged(folder: Folder, name: str) -> tuple[int, dict[str, Any]]:
    """A file of Spark's logs: its version in the first line, a table in the second. Empty if it cannot be read."""
    lines = (folder.read(name) or "").splitlines()
    try:
        said = json.loads(lines[1])
        return int(lines[0].removeprefix("v")), said if isinstance(said, dict) else {}
    except (ValueError, IndexError):
        return 1, {}


def _logged_id(folder: Folder) -> str | None:
    try:
        return str(json.loads(folder.read("metadata") or "")["id"])
    except (ValueError, KeyError, TypeError):
        return None


def _described(folder: Folder, operator: str) -> bool:
    return bool(folder.names(f"state/{operator}/_metadata"))


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and str(text).isdigit() else None
