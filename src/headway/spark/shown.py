"""What `rt.dashboard()` starts: the status of the runtime as a file once a second, and a process that shows it.

A query that has died is told of at once.

The pages are served by a process of their own, which reads files and gives way to others: nothing that is asked of it can
hold up the controller. It ends when this process does, since its input is closed then.
"""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from headway.errors import HeadwayError, aloud
from headway.loop import published
from headway.loop.published import PublishedStatus
from headway.model.status import RuntimeStatus

EVERY_S = 1.0
LEAST_S = 0.1  # between two of them: queries often die together
START_S = 30.0
STOP_S = 5.0


class StatusFile:
    """Publishes the status, until it is closed. A disk that is full is said once, and tried again."""

    def __init__(self, status: Callable[[], RuntimeStatus], ui: str, journal: Path) -> None:
        self._status, self._ui, self.place = status, ui, published.place_of(journal)
        self._over, self._soon, self._said = threading.Event(), threading.Event(), False
        self._publish()
        self._thread = threading.Thread(target=self._run, name="headway-status", daemon=True)
        self._thread.start()

    def soon(self) -> None:
        """Something has changed that people wait for."""
        self._soon.set()

    def close(self) -> None:
        self._over.set()
        self._soon.set()
        self._thread.join(STOP_S)
        with contextlib.suppress(OSError):
            self.place.unlink(missing_ok=True)

    def _run(self) -> None:
        while not self._over.wait(LEAST_S):
            self._soon.wait(EVERY_S - LEAST_S)
            self._soon.clear()
            if not self._over.is_set():
                self._publish()

    def _publish(self) -> None:
        try:
            published.publish(PublishedStatus(self._status(), self._ui, os.getpid()), self.place)
        except Exception as error:  # a page must never harm a query: it shows what was told last, and says how old that is
            if not self._said:
                self._said = True
                aloud(f"the status cannot be written to {self.place}: {' '.join(str(error).split())}")


class DashboardProcess:
    """The process that serves the pages."""

    def __init__(self, journal: Path, options: Sequence[str]) -> None:
        command = [sys.executable, "-m", "headway", "dashboard", str(journal), "--with-parent", *options]
        self._err = tempfile.TemporaryFile("w+")  # noqa: SIM115 - as long as the process; a pipe that is not read would fill
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._err, text=True, start_new_session=True
        )
        self.address = self._await_address()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Its input is closed, which ends it; if it does not, it is ended."""
        process = self._process
        for pipe in (process.stdin, process.stdout, self._err):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP_S)

    def _await_address(self) -> str:
        """What it says first is where it is to be found."""
        said = list[str]()
        assert self._process.stdout is not None
        reader = threading.Thread(target=lambda out: said.append(out.readline()), args=(self._process.stdout,), daemon=True)
        reader.start()
        reader.join(START_S)
        if said and " at http" in said[0]:
            return said[0].rsplit(" at ", 1)[1].strip()
        self._process.kill()
        self._process.wait()
        self._err.seek(0)
        told = [line.removeprefix("headway: ").strip() for line in self._err if line.strip()]
        self.close()
        raise HeadwayError(f"the dashboard did not start: {told[-1] if told else 'it said nothing'}")


class Showing:
    """A runtime's dashboard, once it has been asked for."""

    def __init__(self, status: Callable[[], RuntimeStatus], ui: str | None, journal: Path) -> None:
        self._status, self._ui, self._journal = status, ui or "", journal
        self._file: StatusFile | None = None
        self._process: DashboardProcess | None = None
        self._starting = threading.Lock()

    def address(self, options: Sequence[str]) -> str:
        """Where the pages are; they are served from now on, if they were not. Others that are asked for begin anew."""
        with self._starting:
            if self._file is None:
                self._file = StatusFile(self._status, self._ui, self._journal)
            if self._process is None or not self._process.running:
                self._process = DashboardProcess(self._journal, options)
            return self._process.address

    def soon(self) -> None:
        """Publish the status now, if it is published."""
        if (file := self._file) is not None:
            file.soon()

    def close(self) -> None:
        for part in (self._process, self._file):
            if part is not None:
                part.close()
        self._process = self._file = None
