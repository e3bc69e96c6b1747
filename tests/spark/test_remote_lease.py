"""Leases on checkpoints that many machines reach: real processes, on a real HDFS."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from headway.errors import SettingError
from headway.lease.created import CreatedLease, run
from headway.lease.tenancy import holder
from headway.spark.hadoop_files import HadoopFiles
from headway.spark.lease import EXPIRY, Leases, SessionLeasing

pytestmark = pytest.mark.spark
HERE = Path(__file__).parent
LONG_S, SHORT_S = 20.0, 2.0  # of one that must be seen alive on a busy machine; of one that is to be found dead
NEW_GROUP = {"start_new_session": True, "text": True, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}


class Child:
    """One of the processes; with its JVM it is a group of its own."""

    def __init__(self, *command: object) -> None:
        path = os.pathsep.join([str(HERE.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, "PYTHONPATH": path}
        self._process = subprocess.Popen([sys.executable, *map(str, command)], env=env, **NEW_GROUP)  # type: ignore[call-overload]

    def hears(self) -> str:
        return str(self._process.stdout.readline()).strip()

    def ask(self, word: str) -> str:
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        return self.hears()

    def signal(self, what: signal.Signals) -> None:
        os.killpg(self._process.pid, what)

    def end(self) -> None:
        if self._process.poll() is None:
            self.signal(signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            pipe.close()


@pytest.fixture
def child() -> Iterator[Callable[..., Child]]:
    started: list[Child] = []

    def start(*command: object) -> Child:
        started.append(Child(*command))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture
def checkpoint(hdfs: str, tmp_path: Path) -> str:
    return f"{hdfs}/{tmp_path.name}/books"


@pytest.fixture
def leased(child: Callable[..., Child], checkpoint: str) -> Callable[[str, float], Child]:
    return lambda who, expiry_s: child(HERE / "lease_child.py", checkpoint, who, expiry_s)


Leased = Callable[[str, float], Child]


def test_a_second_process_is_refused_while_the_first_lives_and_not_after(leased: Leased) -> None:
    first = leased("one", LONG_S)
    assert first.hears() == "held 1" and first.ask("sure") == "yes"
    assert "one that no running query uses; one of process" in leased("other", LONG_S).hears()
    assert first.ask("release") == "released" and first.ask("sure") == "no"
    assert leased("other", LONG_S).hears() == "held 2"


def test_one_that_was_killed_is_replaced_after_its_expiry(leased: Leased) -> None:
    first = leased("one", SHORT_S)
    assert first.hears() == "held 1"
    first.signal(signal.SIGKILL)
    second = leased("other", LONG_S)
    assert second.hears() == "held 2" and second.ask("sure") == "yes"


def test_one_that_was_frozen_and_replaced_is_sure_of_nothing_when_it_wakes_and_learns_why(leased: Leased) -> None:
    first = leased("one", SHORT_S)
    assert first.hears() == "held 1"
    first.signal(signal.SIGSTOP)
    second = leased("other", LONG_S)
    assert second.hears() == "held 2"
    first.signal(signal.SIGCONT)
    assert first.ask("sure") == "no"
    assert first.ask("lost").startswith("other of process")
    assert first.ask("release") == "released" and second.ask("sure") == "yes"
    assert "other of process" in leased("third", LONG_S).hears()


def test_one_that_was_frozen_and_not_replaced_is_sure_again_after_a_while(leased: Leased) -> None:
    first = leased("one", SHORT_S)
    assert first.hears() == "held 1"
    first.signal(signal.SIGSTOP)
    time.sleep(SHORT_S)  # longer than it may be sure
    first.signal(signal.SIGCONT)
    while first.ask("sure") == "no":
        time.sleep(0.1)


def test_a_query_that_was_frozen_goes_on_unless_it_was_replaced_then_it_is_stopped_and_says_why(
    child: Callable[..., Child], leased: Leased, checkpoint: str, tmp_path: Path
) -> None:
    query = child(HERE / "leased_query_child.py", checkpoint, tmp_path)
    assert query.hears() == "running"
    await_batch_after(tmp_path, -1)
    query.signal(signal.SIGSTOP)
    time.sleep(4)  # its lease has expired then, and nobody wants it
    query.signal(signal.SIGCONT)
    await_batch_after(tmp_path, newest_batch(tmp_path) + 1)
    query.signal(signal.SIGSTOP)
    assert leased("heir", LONG_S).hears() == "held 2"
    query.signal(signal.SIGCONT)
    said = query.hears()
    assert "query 'books' is stopped: it was silent for so long that heir of process" in said
    assert said.endswith("['failed']")


def newest_batch(folder: Path) -> int:
    return max((int(file.name.removeprefix("batch-")) for file in folder.glob("batch-*")), default=-1)


def await_batch_after(folder: Path, batch: int) -> None:
    while newest_batch(folder) <= batch:
        time.sleep(0.1)


def test_of_two_who_create_the_same_file_one_has_made_it(spark: Any, checkpoint: str) -> None:
    files = _files(spark, checkpoint)
    assert files.numbers() == [] and files.read(1) is None
    assert files.create(1, "first") and not files.create(1, "second")
    files.write(1, "again")
    assert files.create(12, "") and files.numbers() == [1, 12]
    assert files.read(1) == "again" and files.read(12) == ""
    for name in ("7", ".headway.lease.old", ".headway.seen"):
        files._fs.create(files._path(files._folder, name), True).close()
    files.delete(1)
    files.delete(1)
    assert files.numbers() == [12]


def test_a_sessions_leases_say_who_holds_them(spark: Any, checkpoint: str) -> None:
    leases = Leases(SessionLeasing(spark))
    kept = leases.acquire(checkpoint, "books")
    try:
        assert kept.lease.token == 1
        said = run(holder(), _files(spark, checkpoint))
        assert said is not None and said.startswith(f"query 'books' of process {os.getpid()} on ")
    finally:
        kept.release()
    assert run(holder(), _files(spark, checkpoint)) is None


def test_a_file_system_that_is_not_there_is_one_line(spark: Any) -> None:
    with pytest.raises(SettingError, match=r"checkpoint = 'nowhere://x/y': expected a folder in which") as caught:
        SessionLeasing(spark).acquire("nowhere://x/y", "books")
    assert "\n" not in str(caught.value) and "nowhere" in str(caught.value).partition("created; ")[2]


def test_an_expiry_that_is_none_is_one_line(spark: Any) -> None:
    for text in ("soon", "10 ms"):
        spark.conf.set(EXPIRY, text)
        try:
            with pytest.raises(SettingError, match=f"{EXPIRY} = '{text}': expected"):
                SessionLeasing(spark)
        finally:
            spark.conf.unset(EXPIRY)


def test_a_renewal_that_fails_half_way_is_no_sign_of_life_that_looks_like_the_next(spark: Any, checkpoint: str) -> None:
    """A watcher would take the second sign for the first, and the holder for dead while it is sure of itself."""

    class Listless(HadoopFiles):
        fails = False

        def numbers(self) -> list[int]:
            if self.fails:
                raise OSError("no answer")
            return super().numbers()

    conf = spark._jsparkSession.sessionState().newHadoopConf()
    files = Listless(spark._jvm, conf, checkpoint)
    lease = CreatedLease(files, checkpoint, "books")
    signs = [files.read(1)]
    for fails in (True, False):
        files.fails = fails
        if fails:
            with pytest.raises(OSError):
                lease.renew()
        else:
            lease.renew()
        signs.append(files.read(1))
    assert len(set(signs)) == 3
    lease.release()


def _files(spark: Any, checkpoint: str) -> HadoopFiles:
    return HadoopFiles(spark._jvm, spark._jsparkSession.sessionState().newHadoopConf(), checkpoint)


def test_no_permission_is_an_error_and_not_a_lease(spark: Any, hdfs: str) -> None:
    files = _files(spark, f"{hdfs}/plain")
    stream = files._fs.create(files._folder, True)  # a file where the folder should be
    stream.close()
    with pytest.raises(Py4JJavaError):
        files.create(1, "mine")
