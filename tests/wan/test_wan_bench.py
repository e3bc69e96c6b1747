"""`headway bench wan` that is killed: no site, no broker and no Spark of it is left."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from headway.wan import testbed
from headway_lab.experiments.wan_live.staged import record_of
from spark.scripted import wait_until

why = testbed.unavailable()
pytestmark = [
    pytest.mark.spark, pytest.mark.kafka,
    pytest.mark.skipif(why is not None, reason=f"needs network namespaces: {why}"),
]  # fmt: skip


def test_a_run_that_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    words = ["bench", "wan", "--arms", "no-adapt", "--folder", str(tmp_path), "--ledger", str(tmp_path / "ledger.jsonl")]
    with (tmp_path / "out.log").open("wb") as out:
        bench = subprocess.Popen([sys.executable, "-m", "headway", *words], stdout=out, stderr=out)
    started: list[psutil.Process] = []
    try:
        arm = tmp_path / "0-no-adapt"

        def placed() -> bool:
            assert bench.poll() is None, (tmp_path / "out.log").read_text()[-3_000:]
            return record_of(arm).read() is not None

        wait_until(placed, "nodes and brokers at all sites")
        started = psutil.Process(bench.pid).children(recursive=True)
    finally:
        os.kill(bench.pid, signal.SIGKILL)
        bench.wait()
    gone, left = psutil.wait_procs(started, timeout=90)
    assert left == [], [one.cmdline() for one in left]
    words_of = " ".join((tmp_path / "out.log").read_text().split())
    assert len(gone) > 1 + 3 * len(("namespace", "node", "broker")), words_of
