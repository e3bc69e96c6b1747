"""What really happened to a query, from Spark's own logs: which rows each batch read, by which watermark, when.

The model of Spark (`virtual/engine.py`) is given the same batches. Where it says another watermark or other rows in a
result than Spark did, that is told: then either of them is wrong, and no law can be trusted.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headway.model.offset import ControlOffset
from headway.spark.channel.offset_text import offset_of
from headway_lab.experiments.scripts.on_spark.side_by_side import StagedScript
from headway_lab.experiments.scripts.virtual.engine import BatchResult, ModelRow, SparkQuery
from headway_lab.experiments.scripts.virtual.line import SHIFT_MS, VirtualLine
from headway_lab.experiments.scripts.virtual.reports import beyond_horizon
from headway_lab.experiments.scripts.virtual.script import ScriptQuery
from headway_lab.experiments.scripts.virtual.trace import ArrivedRow, QueryTrace, ScriptTrace, SourceLook

ReadIn = dict[str, dict[int, list[ArrivedRow]]]  # by input: the rows in each entry of its source's own log
Written = dict[int, dict[int, list[int]]]  # by batch, then by the window's end: ids


@dataclass(frozen=True)
class LoggedBatch:
    """One entry of Spark's offset log."""

    batch: int
    watermark: int
    timestamp: int
    control: ControlOffset
    files: tuple[int, ...]  # by file source: how far its own log has come
    done_at: int | None  # when it was committed


@dataclass
class Record:
    """A trace that the laws can be held against, what the sinks have, and where the model differs."""

    trace: ScriptTrace
    history: QueryTrace
    differs: list[str] = field(default_factory=list)
    late: set[int] = field(default_factory=set)  # ids in the side table, as late for at least one window
    aside: set[int] = field(default_factory=set)  # ids in the side table, as from the future
    stock: dict[int, set[int]] = field(default_factory=dict)  # by window end: what stock Spark put out


def slowest_ms(parts: Sequence[StagedScript]) -> int:
    """How long a batch may have to wait for those of the others, which share its cores: as long as the longest, for each."""
    times = [
        logged.done_at - logged.timestamp
        for part in parts
        for logged in _log(part.folder / "checkpoints" / "headway", list(part.rows))
        if logged.done_at is not None and _run_at(part, logged.done_at) == _run_at(part, logged.timestamp)
    ]
    return max(times, default=0) * len(parts)


def record(part: StagedScript, end: int, batch_ms: int = 0) -> Record:
    """Read everything that a script has left behind; `batch_ms` is what a batch may take there, with waiting."""
    first = replace(part.script.queries[0], fixed_ms=max(batch_ms, part.script.queries[0].fixed_ms))
    history = QueryTrace(
        SparkQuery(first.windows, dict.fromkeys(part.rows, SHIFT_MS), first.mode), {},
        away=part.away, anew=part.anew, ended=part.ended, last=part.query, starts=[at for at, _ in part.settings],
    )  # fmt: skip
    made = Record(ScriptTrace(replace(part.script, queries=(first,)), {first.name: history}, end=end), history)
    again = _ModelReplay(part, made, _read_in(part, part.folder / "checkpoints" / "headway"), _sink(part.folder / "headway"))
    for logged in _log(part.folder / "checkpoints" / "headway", list(part.rows)):
        again.batch(logged)
    for row in _side_table(part.folder / "late", len(history.spark.commits)):
        (made.aside if row["reason"] == "future" else made.late).add(row["row"]["id"])
    for batch in _sink(part.folder / "stock").values():
        for window_end, keys in batch.items():
            made.stock[window_end] = set(keys)  # in update mode the last is the whole
    return made


class _ModelReplay:
    """Runs the batches of a query once more, in the model."""

    def __init__(self, part: StagedScript, made: Record, read_in: ReadIn, sink: Written) -> None:
        self.part, self.made, self.history, self.spark = part, made, made.history, made.history.spark
        self.read_in, self.sink = read_in, sink
        self.run, self.control = 0, ControlOffset()
        self.upto = dict.fromkeys(part.rows, -1)  # how far each file source's own log was read
        for name, came in part.rows.items():  # in the order in which they were read; those that were not come last
            read = [c for _, rows in sorted(read_in[name].items()) for c in rows]
            known = {c.key for c in read}
            self.history.rows[name] = read + [c for c in came if c.key not in known]

    def batch(self, logged: LoggedBatch) -> None:
        """One entry of the offset log: what it read, and what came of it if it was committed."""
        self._enter_run(_run_at(self.part, logged.timestamp))
        settings = self.part.settings[self.run - 1][1]
        upto = dict(zip(self.part.rows, logged.files, strict=True))
        read = {n: self._rows(n, range(self.upto[n] + 1, upto[n] + 1)) for n in upto}
        taken = {
            n: [c for c in rows if not beyond_horizon(c.event, logged.timestamp, _horizon(settings, n))]
            for n, rows in read.items()
        }
        counts = {n: len(self._rows(n, range(upto[n] + 1))) for n in upto}
        begun = self.spark.begin({"control": logged.control, **counts}, logged.timestamp)
        if begun.watermark != logged.watermark:
            self.made.differs.append(f"batch {logged.batch} swept {logged.watermark}, the model {begun.watermark}")
        look = SourceLook(
            settings, self.run, logged.timestamp, logged.timestamp, logged.timestamp, read, taken, self.control,
            logged.control, gated=True, batch=logged.batch,
        )  # fmt: skip
        self.history.looks.append(look)
        model_rows = [ModelRow(c.key, c.input, c.event) for rows in taken.values() for c in rows]
        ran = self.spark.run(begun, model_rows, VirtualLine().rows(self.control, logged.control))
        self.upto, self.control = upto, logged.control
        if logged.done_at is not None:
            self._enter_run(_run_at(self.part, logged.done_at))  # another, if the first died in it
            self.spark.put_out(ran)
            self.spark.commit(ran)
            look.ran, look.done_at, look.done_run, look.told_at = ran, logged.done_at, self.run, logged.done_at
            self._compare(ran)

    def _enter_run(self, run: int) -> None:
        if run != self.run:
            self.run = run
            self.spark.restart(dict.fromkeys(self.part.rows, SHIFT_MS))

    def _rows(self, name: str, entries: range) -> list[ArrivedRow]:
        return [c for k in entries for c in self.read_in[name].get(k, [])]

    def _compare(self, ran: BatchResult) -> None:
        there = {end: set(keys) for end, keys in self.sink.get(ran.batch, {}).items()}
        if there != {end: set(keys) for end, keys in ran.out.items()}:
            self.made.differs.append(f"batch {ran.batch} put out {there}, the model {dict(ran.out)}")


def _run_at(part: StagedScript, at: int) -> int:
    """Counts from 1."""
    return max(1, sum(start <= at for start, _ in part.settings))


def _horizon(query: ScriptQuery, name: str) -> int | None:
    return next(i.horizon_ms for i in query.inputs if i.name == name)


def _log(checkpoint: Path, names: list[str]) -> Iterator[LoggedBatch]:
    order = _order(checkpoint, names)
    for file in sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda f: int(f.name)):
        _, metadata, *lines = file.read_text().splitlines()
        logged = json.loads(metadata)
        offsets = [None if line == "-" else json.loads(line) for line in lines]
        control = offset_of(next(o for o in offsets if o is not None and "seq" in o))
        of_files = [o for o in offsets if o is None or "seq" not in o]  # a dash: it has not found anything yet
        files = {n: -1 if o is None else o["logOffset"] for n, o in zip(order, of_files, strict=True)}
        commit = checkpoint / "commits" / file.name
        done = commit.stat().st_mtime_ns // 1_000_000 if commit.exists() else None
        yield LoggedBatch(
            int(file.name), logged["batchWatermarkMs"], logged["batchTimestampMs"], control,
            tuple(files[n] for n in names), done,
        )  # fmt: skip


def _order(checkpoint: Path, names: list[str]) -> list[str]:
    """Which input each file source reads, by its own log; one that has found nothing is the one that is left."""
    sources = sorted((checkpoint / "sources").glob("[0-9]*"), key=lambda f: int(f.name))
    found = [next((Path(entry["path"]).parent.name for entry in _entries(source)), None) for source in sources]
    left = iter(n for n in names if n not in found)
    return [next(left) if name is None else name for name in found]


def _read_in(part: StagedScript, checkpoint: Path) -> ReadIn:
    found: ReadIn = {name: {} for name in part.rows}
    for source in sorted((checkpoint / "sources").glob("[0-9]*")):
        seen: set[str] = set()
        for entry in _entries(source):
            path = Path(entry["path"])
            if path.name not in seen:
                seen.add(path.name)
                found[path.parent.name].setdefault(entry["batchId"], []).extend(part.files[path.name])
    return found


def _entries(source: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(source.glob("[0-9]*")):
        for line in file.read_text().splitlines()[1:]:
            yield json.loads(line)


def _sink(folder: Path) -> Written:
    return {
        int(file.stem): {int(end): keys for end, keys in json.loads(file.read_text()).items()}
        for file in sorted(folder.glob("*.json"), key=lambda f: int(f.stem))
    }


def _side_table(folder: Path, batches: int) -> Iterator[dict[str, Any]]:
    """Of so many batches: that of one which was broken off is complete when it has been run again."""
    for file in sorted(folder.glob("query=*/batch=*/*")):
        if not file.name.startswith((".", "_")) and int(file.parent.name.partition("=")[2]) < batches:
            for line in file.read_text().splitlines():
                yield json.loads(line)
