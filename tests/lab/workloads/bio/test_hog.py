"""A hog eats what it was told to, and is gone with whoever started it."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from headway.errors import SettingError
from headway_lab.workloads.bio import hog

# Starts a hog, says which process it is, and waits to be killed.
PARENT = (
    "from headway_lab.workloads.bio import hog; eats = hog.begin({!r}, 0.2, 600); print(eats.pid, flush=True); eats.wait()"
)


def test_so_many_cores_are_so_many_threads_and_a_part_of_one() -> None:
    assert hog.shares(0.25) == [0.25]
    assert hog.shares(2) == [1.0, 1.0]
    assert hog.shares(2.5) == [1.0, 1.0, 0.5]


def test_a_hog_of_processor_time_ends_by_itself_and_has_had_no_more_than_its_share() -> None:
    meal = hog.eaten(hog.begin("cpu", 0.3, 0.8))
    assert meal.megabytes == 0 and meal.seconds >= 0.8
    # What it takes to start is its own time as well; its thread stops at a share of whatever time has passed.
    assert 0 < meal.cpu_s < 0.3 * meal.seconds + 2


@pytest.mark.slow
def test_a_hog_of_bandwidth_gets_its_bytes_across() -> None:
    meal = hog.eaten(hog.begin("bandwidth", 5, 0.8))
    assert 0 < meal.megabytes <= 5 * meal.seconds + 0.6


def test_it_is_gone_at_the_end_of_its_with() -> None:
    with hog.eating("cpu", 0.1, 600) as eating:
        assert psutil.pid_exists(eating.pid) and eating.poll() is None
    assert eating.returncode == -signal.SIGTERM and not psutil.pid_exists(eating.pid)


@pytest.mark.slow
@pytest.mark.parametrize("kind", hog.KINDS)
def test_it_is_gone_when_its_parent_is_killed(kind: str) -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT.format(kind)], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        eating = psutil.Process(int(parent.stdout.readline()))
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        gone, alive = psutil.wait_procs([eating], timeout=30)
    assert gone == [eating] and alive == []


def test_what_cannot_be_eaten_is_refused_by_name() -> None:
    for kind, amount, seconds, key in (
        ("disk", 1.0, 1.0, "kind"),
        ("cpu", 0.0, 1.0, "amount"),
        ("cpu", 1.0, 0.0, "seconds"),
        ("cpu", 1.0, 9e9, "seconds"),
    ):
        with pytest.raises(SettingError, match=rf"hog\.{key} = "):
            hog.begin(kind, amount, seconds)
