"""Processor time by what it was for: nothing is lost between two readings, and threads may come and go."""

import threading
import time

import psutil
from hypothesis import given
from hypothesis import strategies as st

from headway_lab.harness.meter import KINDS, PARTS, Meter, Reading, spent

kinds = st.sampled_from([kind for _, kind in KINDS] + ["other"])
threads = st.dictionaries(st.integers(1, 9), st.tuples(kinds, st.floats(0, 1_000)), max_size=6)


def test_a_thread_counts_for_what_it_does_and_one_that_is_new_counts_whole() -> None:
    before = Reading({1: ("planning", 100.0), 2: ("tasks", 50.0)}, driver=200.0, python=10.0)
    after = Reading({1: ("planning", 130.0), 3: ("tasks", 5.0)}, driver=250.0, python=13.0)
    parts = spent(before, after)
    assert (parts["planning"], parts["tasks"], parts["python"]) == (30.0, 5.0, 3.0)
    assert parts["other"] == 15.0  # what thread 2 used before it ended, and nobody saw


@given(threads, st.floats(0, 500))
def test_the_parts_of_the_driver_add_up_to_all_it_used(more: dict[int, tuple[str, float]], unseen: float) -> None:
    used = sum(ms for _, ms in more.values())
    parts = spent(Reading({}, 0.0, 0.0), Reading(more, used + unseen, 0.0))
    assert abs(sum(parts.values()) - used - unseen) < 1e-6
    assert set(parts) == set(PARTS)


def test_a_process_is_read_with_all_its_threads() -> None:
    done = threading.Event()
    threading.Thread(target=done.wait).start()
    meter = Meter(psutil.Process())
    before = meter.read()
    end = time.process_time() + 0.05
    while time.process_time() < end:
        pass
    after = meter.read()
    done.set()
    assert len(after.threads) >= 2
    assert after.driver > before.driver and sum(spent(before, after).values()) > 0


def test_the_time_of_a_child_that_has_ended_is_not_lost() -> None:
    import subprocess
    import sys

    import psutil

    before = Meter(psutil.Process()).read().total
    subprocess.run([sys.executable, "-c", "sum(range(3_000_000))"], check=True)
    assert Meter(psutil.Process()).read().total > before + 10
