"""A cold start: from nothing to windows on time, in a process and a JVM of its own."""

import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headway.errors import HeadwayError
from headway_lab.harness.bench import Bench, Run
from headway_lab.harness.setting import Setting

EXPERIMENT = "cold"
MODULE = "headway_lab.experiments.cold.run"
# Which session, and which policy on it. `klink-plain` is Headway on a session with Spark's own settings.
KINDS = {"stock": ("plain", "stock"), "klink-plain": ("plain", "klink"), "klink": ("tuned", "klink")}
ON_TIME_MS = 500


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Seconds from the start of the process; None for what did not come to pass while we looked."""

    session_s: float  # until there was a Spark session
    started_s: float  # until all queries were started
    first_s: float | None  # until a window was out on time
    all_s: float | None  # until every query had one window after the other on time


def cold(kind: str, setting: Setting, seed: int) -> ColdStart:
    """Start a process that starts everything, let it run for as long as the setting says, and read what it saw."""
    began = time.time()
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", MODULE, kind, json.dumps(asdict(setting)), str(seed), str(began)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            said, _ = child.communicate()
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
        if child.returncode:
            log.seek(0)
            raise HeadwayError(
                f"cold: {kind} did not come up: {(log.read().strip().splitlines() or ['it said nothing'])[-1]}"
            )
    return ColdStart(**json.loads(said.strip().splitlines()[-1]))


def on_time(run: Run, limit_ms: float) -> tuple[float | None, float | None]:
    """Seconds from the start of the stretch until a first window was on time, and until all of them were for the length of a
    window, in which every query has one."""
    windows = sorted(zip(run.due_ms, run.latencies_ms, strict=True))
    good = [(due, due + late) for due, late in windows if late <= limit_ms]
    first = min((out for _, out in good), default=None)
    since = _first_calm(windows, limit_ms, run.setting.window_ms)
    whole = None if since is None else max(d + late for d, late in windows if since <= d < since + run.setting.window_ms)
    return tuple(None if ms is None else ms / 1000 for ms in (first, whole))  # type: ignore[return-value]


def _first_calm(windows: Sequence[tuple[int, float]], limit_ms: float, length_ms: int) -> int | None:
    """When the first stretch of `length_ms` begins in which no window is late."""
    for since, _ in windows:
        inside = [late for due, late in windows if since <= due < since + length_ms]
        if all(late <= limit_ms for late in inside) and windows[-1][0] >= since + length_ms:
            return since
    return None


def _session(profile: str) -> Any:
    from headway.spark.session import plain, session
    from headway_lab.jvm import JAR

    cores = os.cpu_count() or 2
    if profile == "tuned":
        return session("headway-cold", cores=cores, memory="4g", jars=[JAR])
    return plain("headway-cold", cores=cores, memory="4g")


def main(kind: str, setting: str, seed: str, began: str) -> None:
    logging.disable()
    profile, policy = KINDS[kind]
    spark = _session(profile)
    session_s = time.time() - float(began)
    bench = Bench(spark)
    try:
        (run,) = bench.run([policy], Setting(**json.loads(setting) | {"profile": profile}), int(seed), lambda *_: None)
        started_s = run.since_ms / 1000 - float(began)
        first, whole = (None if s is None else round(started_s + s, 2) for s in on_time(run, ON_TIME_MS))
        print(json.dumps(asdict(ColdStart(round(session_s, 2), round(started_s, 2), first, whole))))
    finally:
        bench.close()
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
