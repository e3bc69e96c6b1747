"""Driver processes that are killed on purpose: each in a session of its own, none left behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Self

from headway.errors import HeadwayError
from headway.servers.process_guard import end_with_parent

Child = subprocess.Popen[bytes]
PLAN_FILE = "plan.json"


@contextmanager
def work_folder(prefix: str, folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as made:
        yield Path(made)


def begin(module: str, work: Path, *args: str, env: Mapping[str, str] | None = None) -> Child:
    """What it says goes into a log in the work folder."""
    with (work / "child.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", module, "child", str(work), *args],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **(env or {})},
            preexec_fn=end_with_parent(),
        )  # fmt: skip


class StoredPlan:
    """What a child runs, kept in the work folder: a restart must see the same. A base for dataclasses of plain values."""

    def write(self, work: Path) -> None:
        (work / PLAN_FILE).write_text(json.dumps(asdict(self)))  # type: ignore[call-overload]

    @classmethod
    def read(cls, work: Path) -> Self:
        return cls(**json.loads((work / PLAN_FILE).read_text()))


def kill(child: Child) -> None:
    """With all that it has started, its JVM first of all."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def last_words(work: Path) -> str:
    said = (work / "child.log").read_text(errors="replace").strip().splitlines()[-1:]
    return said[0] if said else "it said nothing"


def await_child(child: Child, ready: Callable[[], bool], work: Path, limit_s: float, say: Callable[[], None]) -> None:
    """Wait for something that the child does; raises if it dies first, or takes too long."""
    end = time.monotonic() + limit_s
    while not ready():
        say()
        if child.poll() is not None or time.monotonic() > end:
            raise HeadwayError(f"the child did not get anywhere: {last_words(work)}")
        time.sleep(0.05)


def recovery_figures(waits_s: Sequence[float]) -> dict[str, float]:
    """For the ledger: how long it took until all went on, after each fault that was recovered from."""
    return {
        "recovery_s": round(median(waits_s), 2) if waits_s else 0.0,
        "worst_s": round(max(waits_s, default=0.0), 2),
    }
