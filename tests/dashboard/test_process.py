"""The dashboard as a process of its own, beside a program: it is told how queries stand, and ends with the program."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from dashboard.worlds import write
from headway.errors import HeadwayError
from headway.loop import published
from headway.model.status import QueryStatus, RuntimeStatus
from headway.model.time import WallMs
from headway.spark.shown import Showing, StatusFile

PATIENCE_S = 60
PROGRAM = """
import sys, time
from pathlib import Path
from headway.model.status import RuntimeStatus
from headway.spark.shown import Showing
print(Showing(lambda: RuntimeStatus(1, "Klink"), None, Path(sys.argv[1])).address(["--port", "0"]), flush=True)
time.sleep(600)
"""


def wait_until(true: Callable[[], object], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.02)


def status() -> RuntimeStatus:
    now = WallMs(time.time_ns() // 1_000_000)
    return RuntimeStatus(now, "Klink", 2, (QueryStatus("books", "between batches", now, run="r-1"),), cores=2)


def answers(address: str) -> bool:
    host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    write(tmp_path / "run.db", ["books"], 12)
    return tmp_path / "run.db"


def test_it_shows_what_the_program_tells_and_ends_with_it(journal: Path) -> None:
    showing = Showing(status, "http://localhost:4040", journal)
    address = showing.address(["--port", "0"])
    try:
        assert showing.address(["--port", "0"]) == address
        told = httpx.get(f"{address}api/overview").json()
        (row,) = told["rows"]
        assert (row["state"], told["cores"], told["live"]) == ("between batches", 2, True)
        assert row["link"] == "http://localhost:4040/StreamingQuery/statistics/?id=r-1"
    finally:
        showing.close()
    assert not answers(address) and not published.place_of(journal).exists()


def test_it_ends_when_the_program_is_killed(journal: Path) -> None:
    program = subprocess.Popen([sys.executable, "-c", PROGRAM, str(journal)], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    address = program.stdout.readline().strip()
    assert answers(address)
    program.send_signal(signal.SIGKILL)
    program.wait()
    program.stdout.close()
    wait_until(lambda: not answers(address), "its end")


def test_why_it_cannot_start_is_told(journal: Path) -> None:
    showing = Showing(status, None, journal)
    with pytest.raises(HeadwayError, match="the dashboard did not start: token = None: expected a token"):
        showing.address(["--host", "0.0.0.0"])
    showing.close()
    assert not published.place_of(journal).exists()


def test_a_status_that_cannot_be_told_is_said_once_and_harms_nobody(
    journal: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.spark.shown.EVERY_S", 0.01)
    asked = []

    def broken() -> RuntimeStatus:
        asked.append(1)
        raise ValueError("not today")

    file = StatusFile(broken, "", journal)
    wait_until(lambda: len(asked) > 3, "some attempts")
    file.close()
    assert capsys.readouterr().err.count("the status cannot be written") == 1
