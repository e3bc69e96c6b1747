import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.slots import Slots


def test_until_anything_is_known_one_batch_more_than_cores_may_run() -> None:
    assert Slots(cores=2).best == 3
    assert Slots(cores=2).add_batch(300).best == 3


@pytest.mark.parametrize(("cores", "alone", "cpu", "best"), [(2, 300, 300, 2), (2, 300, 200, 3), (4, 300, 150, 8)])
def test_as_many_batches_as_keep_the_cores_busy(cores: int, alone: float, cpu: float, best: int) -> None:
    assert Slots(cores).add_batch(alone).add_cpu(cpu * 10, 10).best == best


def test_a_batch_that_uses_all_cores_runs_alone() -> None:
    assert Slots(cores=2).add_batch(100).add_cpu(400, 1).best == 1


def test_a_little_over_a_whole_number_does_not_add_a_slot() -> None:
    assert Slots(cores=2).add_batch(110).add_cpu(100, 1).best == 2
    assert Slots(cores=2).add_batch(120).add_cpu(100, 1).best == 3


def test_where_a_batch_is_one_task_there_are_as_many_slots_as_cores() -> None:
    busy = Slots(cores=2, one_task=True).add_batch(81).add_cpu(130, 1)  # the JVM compiles meanwhile
    assert busy.best == 2


def test_figures_fade_as_batches_get_cheaper() -> None:
    slots = Slots(cores=2).add_batch(1_000).add_cpu(1_000, 1)
    for _ in range(40):
        slots = slots.add_batch(100).add_cpu(100, 1)
    assert slots.alone_ms == pytest.approx(100, rel=0.01) and slots.cpu_ms == pytest.approx(100, rel=0.01)


def test_a_stretch_without_batches_or_work_says_nothing() -> None:
    slots = Slots(cores=2)
    assert slots.add_cpu(500, 0) == slots and slots.add_cpu(0, 3) == slots and slots.add_cpu(-5, 3) == slots


@given(st.integers(1, 128), st.integers(1, 10**5), st.integers(1, 10**6))
def test_there_is_always_a_slot_and_never_more_than_two_per_core(cores: int, alone: int, cpu: int) -> None:
    assert 1 <= Slots(cores).add_batch(alone).add_cpu(cpu, 1).best <= 2 * cores


def test_a_shorter_time_is_believed_at_once_and_a_longer_one_slowly() -> None:
    slots = Slots(cores=2).add_batch(100).add_cpu(100, 1)
    assert slots.add_batch(1_000).best == 3
    for _ in range(5):
        slots = slots.add_batch(40)
    assert slots.best == 1


def test_batches_beside_others_count_by_their_share_of_the_cores() -> None:
    crowded = Slots(cores=2).add_batch(150).add_cpu(70, 1)
    assert crowded.best == 4
    for _ in range(10):  # three at once on two cores, and each takes half as long again as it would alone
        crowded = crowded.add_batch(105, at_once=3).add_cpu(70, 1)
    assert crowded.alone_ms == pytest.approx(70, rel=0.01) and crowded.best == 2
    assert Slots(cores=2).add_batch(100, at_once=2).alone_ms == 100


def test_executors_come_and_go() -> None:
    known = Slots(cores=2).add_batch(300).add_cpu(3_000, 10)
    assert known.on(8).best == 8 and known.on(1).best == 1
    assert known.on(2) is known and known.on(0) is known, "none at all: they are on their way"
    assert Slots(cores=2, one_task=True).on(6).add_batch(100).add_cpu(1_000, 1).best == 6


def test_on_a_cluster_one_batch_more_than_cores_whatever_the_driver_uses() -> None:
    assert Slots(cores=4, one_task=True, planning_cores=2).add_batch(300).add_cpu(30, 1).best == 5
    assert Slots(cores=4, planning_cores=2).add_batch(300).add_cpu(30, 1).on(8).best == 9


def test_on_a_cluster_no_more_batches_than_the_driver_can_plan() -> None:
    assert Slots(cores=64, one_task=True, planning_cores=2).add_batch(300).add_cpu(60, 1).best == 10
    assert Slots(cores=1, planning_cores=2).add_batch(10).add_cpu(60, 1).best == 1
    heavy = Slots(cores=64, one_task=True, planning_cores=2).add_batch(10_000).add_cpu(60, 1)
    assert heavy.best == 65
