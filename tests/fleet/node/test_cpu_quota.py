"""What a container leaves a node of the machine, in both versions of control groups, and what the node tells of it then."""

import os
from pathlib import Path

import psutil
import pytest

from headway.fleet.node.machine import MachineGauge, agent_seconds
from headway.fleet.node.quota import CpuQuota, QuotaCounters


def put(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def second_version(place: Path, limit: str, used_us: int = 0, held_us: int = 0) -> CpuQuota:
    (place / "self").write_text("0::/pod/one\n")
    put(place / "mounts/pod", cpu__max="max 100000\n")
    stat = f"usage_usec {used_us}\nuser_usec 1\nnr_periods 5\nthrottled_usec {held_us}\n"
    put(place / "mounts/pod/one", cpu__max=f"{limit}\n", cpu__stat=stat)
    return CpuQuota(place / "self", place / "mounts")


def test_the_second_version_says_it_in_one_tree(tmp_path: Path) -> None:
    quota = second_version(tmp_path, "60000 100000", 7_500_000, 250_000)
    assert quota.read() == QuotaCounters(0.6, 7.5, 0.25)
    assert second_version(tmp_path, "max 100000").read() is None


def test_the_first_version_says_it_in_two_trees_and_a_limit_may_be_further_up(tmp_path: Path) -> None:
    (tmp_path / "self").write_text("4:memory:/\n2:cpuacct:/pod/one\n1:cpu:/pod/one\n0::/\n")
    put(tmp_path / "cpu/pod/one", cpu__cfs_quota_us="-1\n", cpu__cfs_period_us="100000\n", cpu__stat="throttled_time 0\n")
    put(tmp_path / "cpuacct/pod/one", cpuacct__usage="3000000000\n")
    quota = CpuQuota(tmp_path / "self", tmp_path)
    assert quota.read() is None
    stat = "nr_periods 9\nnr_throttled 3\nthrottled_time 500000000\n"
    put(tmp_path / "cpu/pod", cpu__cfs_quota_us="150000\n", cpu__cfs_period_us="100000\n", cpu__stat=stat)
    assert quota.read() == QuotaCounters(1.5, 3.0, 0.5)


@pytest.mark.parametrize("text", ["", "nonsense\n", "0::/nowhere\n", "1:cpu:/nowhere\n"])
def test_where_nothing_is_known_nothing_is_limited(tmp_path: Path, text: str) -> None:
    (tmp_path / "self").write_text(text)
    assert CpuQuota(tmp_path / "self", tmp_path).read() is None
    assert CpuQuota(tmp_path / "not-there", tmp_path).read() is None


def test_a_node_in_a_container_tells_of_the_container(tmp_path: Path) -> None:
    seconds = [100.0]
    gauge = MachineGauge(clock=lambda: seconds[0], quota=second_version(tmp_path, "50000 100000"))
    seconds[0] += 10
    second_version(tmp_path, "50000 100000", 5_000_000, 2_500_000)  # half a core in use, and a quarter of one held back
    told = gauge.read()
    assert told.cores == 0.5 and told.load_average == pytest.approx(0.75) and 0 <= told.own_load <= 1
    seconds[0] += 60
    idle = gauge.read()
    assert idle.load_average == pytest.approx(0.75 / 2.718, rel=0.01), "forgotten within a minute, as the system's own is"


def test_what_other_programs_use_is_told_within_seconds_and_forgotten_within_seconds(tmp_path: Path) -> None:
    seconds, used_us, told = [100.0], 0, []
    gauge = MachineGauge(clock=lambda: seconds[0], quota=second_version(tmp_path, "50000 100000"))
    for busy in [True] * 4 + [False] * 12:  # this process itself does hardly anything: it is another's
        seconds[0] += 1
        used_us += 500_000 if busy else 0
        second_version(tmp_path, "50000 100000", used_us)
        told.append(gauge.read())
    assert told[3].foreign > 0.3 and told[3].load_average == pytest.approx(0.5)
    assert told[-1].foreign < 0.02 and told[-1].load_average > 0.3, "the load average has not forgotten it"


def test_a_node_that_is_put_into_a_container_tells_of_it_from_then_on(tmp_path: Path) -> None:
    quota = CpuQuota(tmp_path / "self", tmp_path / "mounts")
    gauge = MachineGauge(quota=quota)
    assert gauge.read().cores == os.cpu_count()
    second_version(tmp_path, "50000 100000", 1_000_000)
    between = gauge.read()
    assert between.cores == 0.5 and between.own_load == 1.0
    assert between.load_average == 0.0, "not the machine's, of which it has a part only"


def test_what_others_do_outside_a_container_is_forgotten_when_a_node_is_put_into_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, busy = [100.0], [0.0]
    times = psutil.cpu_times()
    monkeypatch.setattr(psutil, "cpu_times", lambda: times._replace(user=times.user + busy[0]))
    gauge = MachineGauge(clock=lambda: seconds[0], quota=CpuQuota(tmp_path / "self", tmp_path / "mounts"))
    for _ in range(5):
        seconds[0], busy[0] = seconds[0] + 1, busy[0] + 1.5
        outside = gauge.read()
    assert outside.foreign == pytest.approx(1.2, rel=0.1)
    second_version(tmp_path, "50000 100000", 1_000_000)
    seconds[0] += 1
    assert gauge.read().foreign == 0.0
    assert gauge.read().load_average >= 0


def test_what_the_agent_uses_is_counted() -> None:
    assert agent_seconds() >= 0.0
