"""The pipeline of a live wide area on a testbed, and who sends rows to it."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from pathlib import Path

from headway.errors import HeadwayError
from headway.servers import process as servers
from headway.wan.control.record import AreaRecord, RecordFile
from headway.wan.site_servers import BROKER_PORT
from headway.wan.testbed import WanTestbed
from headway_lab.experiments.wan_live.disturbance import SITES, THIN, Say, WanLiveCase
from headway_lab.experiments.wan_live.views import AdStream

JOB = Path(__file__).with_name("job.py")
USD_PER_GB = 0.02
UP_S, STOP_S = 300.0, 90.0
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # six JVMs that live for minutes, on two cores


@contextmanager
def pipeline(bed: WanTestbed, case: WanLiveCase, arm: str, folder: Path, say: Say) -> Iterator["subprocess.Popen[bytes]"]:
    """`headway wan run`, until it is asked to end."""
    state = folder / "state"
    bed.save(state / "headway" / "wan.json")
    more = {
        "XDG_STATE_HOME": str(state), "SITES": ",".join((THIN[1], *(s for s in SITES if s != THIN[1]))),
        "SPARK_SUBMIT_OPTS": BRIEF, "SPARK_LAUNCHER_OPTS": BRIEF, "RESULTS": str(folder / "results"),
        "WINDOW_MS": str(case.window_ms), "PARTIAL": "yes" if case.partial else "no",
    }  # fmt: skip
    rates = [word for site in SITES for word in ("--rate", f"ads-{site}={case.rate}")]
    command = [
        sys.executable, "-m", "headway", "wan", "run", str(JOB), "--policy", arm, "--round", str(case.round_s),
        "--spike", str(case.spike_s), "--settle", str(2 * case.round_s), "--usd-per-gb", str(USD_PER_GB),
        "--journal", str(folder / "journal.db"), "--folder", str(folder / "area"), *rates,
    ]  # fmt: skip
    say("starting three Spark applications and three brokers")
    running = servers.launched(["env", *(f"{k}={v}" for k, v in more.items()), *command], folder, ends_with_parent=True)
    try:
        record = record_of(folder)
        wait_for(lambda: _runs(record.read()), UP_S, "the pipeline to run", running)
        yield running
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGINT)
            try:
                running.wait(STOP_S)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def record_of(folder: Path) -> RecordFile:
    return RecordFile(folder / "area" / "record.json")


def _runs(record: AreaRecord | None) -> bool:
    return record is not None and all(placed.begun for placed in record.current.pieces)


def sender(bed: WanTestbed, site: str, streams: list[AdStream], folder: Path) -> "subprocess.Popen[bytes]":
    address = f"{bed.address(site)}:{BROKER_PORT}"
    told = json.dumps({"address": address, "topic": f"ads-{site}", "streams": [astuple(one) for one in streams]})
    command = bed.command(site, sys.executable, "-m", "headway_lab.experiments.wan_live.sender", told)
    place = folder / f"sender-{site}"
    place.mkdir(exist_ok=True)
    return servers.launched(command, place, ends_with_parent=True)


def wait_for(true: Callable[[], bool], seconds: float, what: str, running: "subprocess.Popen[bytes]") -> None:
    if not came(true, seconds, what, running):
        raise HeadwayError(f"waited in vain for {what}, {seconds:g} s")


def came(true: Callable[[], bool], seconds: float, what: str, running: "subprocess.Popen[bytes]") -> bool:
    """Whether it did within so many seconds; raises if there is nobody any more from whom it could come."""
    end = time.monotonic() + seconds
    while not true():
        if running.poll() is not None:
            raise HeadwayError(f"`headway wan run` has ended, waited for {what}")
        if time.monotonic() > end:
            return False
        time.sleep(0.5)
    return True
