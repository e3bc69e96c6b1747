"""A real broker: it starts, holds rows over a crash, and leaves nothing behind."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from headway.errors import HeadwayError, SettingError
from headway.kafka import broker, topics
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.replay import replay


def feed(rows: int) -> Feed:
    at = np.zeros(rows, dtype=np.int64)
    return Feed("rows", at, at, [b'"n":%d' % i for i in range(rows)])


@pytest.mark.spark
@pytest.mark.kafka
def test_it_holds_its_rows_over_a_crash_and_takes_its_data_with_it(tmp_path: Path) -> None:
    first = broker.start(tmp_path / "data")
    topics.create(first.address, "rows", 2)
    assert replay([feed(1_000)], first.address, "rows").rows == 1_000
    first.kill()
    assert not first.alive
    second = broker.start(tmp_path / "data", port=first.port)
    assert sum(topics.ends(second.address, "rows").values()) == 1_000
    second.stop()
    assert not second.alive and not (tmp_path / "data").exists()


def test_a_port_that_is_taken_is_named(kafka: str) -> None:
    port = int(kafka.rpartition(":")[2])
    with pytest.raises(SettingError, match=f"port = {port}: expected a free port"):
        broker.start(port=port)


def test_what_was_written_down_may_be_gone(tmp_path: Path) -> None:
    note = tmp_path / "state" / "kafka.json"
    assert broker.Broker.load(note) is None
    broker.Broker(1, os.getpid(), "nowhere", born=0.0).save(note)
    found = broker.Broker.load(note)
    assert found is not None and not found.alive, "another process has that number now"
    note.write_text("{}")
    assert broker.Broker.load(note) is None


@pytest.mark.spark
@pytest.mark.kafka
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_guarded_broker_ends_with_a_parent_that_is_killed() -> None:
    code = "from headway.kafka import broker; import time; print(broker.start().pid, flush=True); time.sleep(300)"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    folder = Path(child.cmdline()[-1]).parent
    parent.kill()
    parent.wait()
    child.wait(timeout=60)
    assert not child.is_running()
    subprocess.run(["rm", "-rf", str(folder)], check=True)


def test_topics_are_made_grown_and_counted(kafka: str) -> None:
    topics.create(kafka, "grows", 1)
    topics.create(kafka, "grows", 1)
    with pytest.raises(SettingError, match="partitions = 2: expected 1, which the topic 'grows' has"):
        topics.create(kafka, "grows", 2)
    topics.grow(kafka, "grows", 3)
    assert _until(lambda: len(topics.ends(kafka, "grows")) == 3)
    topics.delete(kafka, "grows")
    assert _until(lambda: "grows" not in topics.listed(kafka))


def test_a_topic_that_is_not_there_is_named(kafka: str) -> None:
    with pytest.raises(SettingError, match=r"topic = 'nothing': expected one that 127\.0\.0\.1"):
        topics.ends(kafka, "nothing")


def test_rows_for_a_topic_that_is_not_there_are_not_lost_in_silence(kafka: str) -> None:
    hasty: dict[str, Any] = {"message.timeout.ms": 1_000, "enable.idempotence": False}
    with pytest.raises(HeadwayError, match="10 of 10 rows did not reach"):
        replay([feed(10)], kafka, "nothing", **hasty)


def _until(true: object, seconds: float = 30) -> bool:
    assert callable(true)
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.05)
    return bool(true())


def test_the_name_of_a_cluster_is_never_taken_for_an_option() -> None:
    names = [broker._cluster_name() for _ in range(1_000)]
    assert not any(name.startswith("-") for name in names) and len(set(names)) == 1_000
    assert {len(name) for name in names} == {22}
