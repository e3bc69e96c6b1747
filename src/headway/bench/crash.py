"""Kill the driver at random moments, again and again, and check that no window is lost, doubled or wrong.

The child process runs Yahoo queries under Klink into files, one per query and batch, so that a batch which runs again
writes the same file again. The parent kills it with SIGKILL, JVM and all, and starts it anew on the same checkpoints.
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headway.bench.experiment import Say
from headway.errors import HeadwayError
from headway.workloads.delays import Uniform
from headway.workloads.ysb import Pane, Ysb

EXPERIMENT = "crash"
PATIENCE_MS = 500
START_LIMIT_S = 180
FINISH_S = 12  # how far the last run goes beyond its own start


@dataclass(frozen=True)
class Plan:
    """What runs in every child, kept in the work folder: a restart must see the same streams."""

    seed: int
    epoch_ms: int
    queries: int = 3
    rate: int = 200

    def streams(self) -> dict[str, Ysb]:
        chance = random.Random(self.seed)
        return {
            f"crash_{i}": Ysb(
                self.seed * 1000 + i, self.rate, self.epoch_ms, Uniform(0, 500), offset_ms=chance.randrange(3_000)
            )
            for i in range(self.queries)
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out after all kills, compared with the truth."""

    kills: int
    windows: int
    panes: int
    missing: int
    twice: int
    miscounted: int

    @property
    def wrong(self) -> int:
        return self.missing + self.twice + self.miscounted


# ---- the parent


def crash(times: int, seed: int, say: Say, killed: Callable[[int], None], folder: Path | None = None) -> Outcome:
    """Kill `times` times, then let it finish, and compare what was written with what is true."""
    with _work_folder(folder) as work:
        plan = Plan(seed, int(time.time() * 1000))
        (work / "plan.json").write_text(json.dumps(asdict(plan)))
        chance = random.Random(seed)
        for kill in range(times):
            with _child(work) as child:
                _await_output(work, child, say)
                say("letting it run", 0.0)
                time.sleep(chance.uniform(0, 4))
            killed(kill + 1)
        until_ms = int(time.time() * 1000) + FINISH_S * 1000
        with _child(work, "--until", str(until_ms)) as child:
            _await(child, (work / "done").exists, work, lambda: say("last run, to the end", 0.0))
        return compare(plan, written(work), until_ms, times)


@contextmanager
def _work_folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="headway-crash-", ignore_cleanup_errors=True) as made:
        yield Path(made)


@contextmanager
def _child(work: Path, *args: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A child in a session of its own; whatever of it still lives is killed at the end."""
    with (work / "child.log").open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "headway.bench.crash", "child", str(work), *args],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
        try:
            yield child
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _await_output(work: Path, child: "subprocess.Popen[bytes]", say: Say) -> None:
    """Until the child has finished its first batch. A batch that runs again replaces its file, which counts too."""
    since = time.time_ns()

    def ready() -> bool:
        return any(file.stat().st_mtime_ns > since for file in work.glob("out/*/*.json"))

    _await(child, ready, work, lambda: say("waiting for a batch", 0.0))


def _await(child: "subprocess.Popen[bytes]", ready: Callable[[], bool], work: Path, say: Callable[[], None]) -> None:
    end = time.monotonic() + START_LIMIT_S
    while not ready():
        say()
        if child.poll() is not None or time.monotonic() > end:
            tail = (work / "child.log").read_text(errors="replace").strip().splitlines()[-1:]
            raise HeadwayError(f"crash: the child did not get anywhere: {tail[0] if tail else 'it said nothing'}")
        time.sleep(0.05)


def written(work: Path) -> dict[str, list[tuple[Pane, int]]]:
    """All rows in the sink, per query."""
    out: dict[str, list[tuple[Pane, int]]] = {}
    for file in sorted(work.glob("out/*/*.json")):
        rows = json.loads(file.read_text())
        out.setdefault(file.parent.name, []).extend(((end, campaign), count) for end, campaign, count in rows)
    return out


def compare(plan: Plan, rows: dict[str, list[tuple[Pane, int]]], until_ms: int, kills: int) -> Outcome:
    """Every pane of every window that ends by `until_ms` must be there, once, with its true count."""
    windows = panes = missing = twice = miscounted = 0
    for name, stream in plan.streams().items():
        true = {pane: count for pane, count in stream.truth(until_ms).items() if pane[0] <= until_ms}
        got = [(pane, count) for pane, count in rows.get(name, []) if pane[0] <= until_ms]
        times = Counter(pane for pane, _ in got)
        windows += len({end for end, _ in true})
        panes += len(true)
        missing += sum(pane not in times for pane in true)
        twice += sum(n - 1 for n in times.values())
        miscounted += sum(true.get(pane) != count for pane, count in dict(got).items())
    return Outcome(kills, windows, panes, missing, twice, miscounted)


# ---- the child


def child(work: Path, until_ms: int | None) -> None:
    """Run the plan's queries; with `until_ms`, stop once every window that ends by then is written."""
    import headway as hw
    from headway.spark.events import events

    streams = Plan(**json.loads((work / "plan.json").read_text())).streams()
    spark = hw.session("headway-crash", cores=2, memory="1g")
    with hw.Runtime(spark, hw.order.Klink(), journal=work / "journal.db") as rt:
        for name, stream in streams.items():
            marked = rt.watermark(events(spark, stream), "event_time", PATIENCE_MS, arrival="arrival")
            rows = stream.counts(marked).selectExpr("unix_millis(window.end) as end", "campaign_id", "count")
            writer = rows.writeStream.outputMode("append").foreachBatch(_into(work / "out" / name))
            rt.start(writer, name=name, checkpoint=str(work / "checkpoints" / name))
        while until_ms is None or any(_newest(work / "out" / n) < _last(s, until_ms) for n, s in streams.items()):
            rt.await_termination(0.5)
    (work / "done").touch()


def _into(folder: Path) -> Callable[[Any, int], None]:
    """A sink that may be asked for the same batch twice: the file is named by the batch and appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(batch: Any, number: int) -> None:
        rows = [(row["end"], row["campaign_id"], row["count"]) for row in batch.collect()]
        part = folder / f"{number}.part"
        part.write_text(json.dumps(rows))
        part.rename(folder / f"{number}.json")

    return write


def _newest(folder: Path) -> int:
    """The end of the newest window written. Files only get newer with their numbers, so a few of the last tell."""
    files = sorted(folder.glob("*.json"), key=lambda f: int(f.stem))[-10:]
    return max((end for f in files for end, _, _ in json.loads(f.read_text())), default=0)


def _last(stream: Ysb, until_ms: int) -> int:
    """The end of the last window that ends by `until_ms`."""
    return until_ms - (until_ms - stream.offset_ms) % stream.window_ms


if __name__ == "__main__":
    _, _, folder_, *rest = sys.argv
    child(Path(folder_), int(rest[1]) if rest else None)
