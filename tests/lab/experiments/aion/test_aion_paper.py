"""The experiments on Aion."""

from typing import Any

import pytest

from headway.errors import SettingError
from headway.policy.sampling import Aion
from headway_lab.experiments.aion import figures as aion_figures
from headway_lab.experiments.aion import paper as aion_paper
from headway_lab.experiments.aion.paper import POLICIES, WAITED_FOR, AionCase, WaitsFor, policy_named, simulate, tasks
from headway_lab.experiments.aion.run import policy_named as live_policy_named
from headway_lab.experiments.aion.streams import WORKLOADS
from headway_lab.workloads.approximate import WORKLOADS as QUESTIONS

SMALL = AionCase("ysb", "EG", 5_000, 3, minutes=1)


@pytest.fixture(autouse=True)
def _made_up_trips(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_DATA", "/nowhere")  # the same figures with real data and without


def told(task: tuple[AionCase, str, int]) -> dict[str, Any]:
    return {field: value for field, value in simulate(task).items() if field != "overhead_share"}


def test_the_same_seed_gives_the_same_figures_and_another_seed_others() -> None:
    task = (SMALL, "aion", 1)
    assert told(task) == told(task) != told((SMALL, "aion", 2))


def test_a_run_tells_what_live_runs_tell() -> None:
    found = simulate((SMALL, "aion", 1))
    fields = ("mean_ms", "p95_ms", "p99_ms", "rate", "windows", "within", "covered", "error_mean", "error_max")
    assert {*fields, "late_share", "overhead_share"} <= found.keys()
    assert 0 < found["width"] < 0.5
    assert found["windows"] == 20 and found["mean_ms"] <= found["p95_ms"] <= found["p99_ms"]
    assert 0 < found["overhead_share"] < 1 and found["accuracy"] == pytest.approx(1 - found["error_mean"])


@pytest.mark.slow
def test_everything_spends_its_time_as_the_thesis_says() -> None:
    # Counting views with gamma delays: 350 ms of slack, and processing is more than that.
    found = told((AionCase("ysb", "GG", 5_000, 3, 1), "everything", 1))
    assert found["wait_ms"] == pytest.approx(355, abs=2) and found["mean_ms"] > 2 * found["wait_ms"]
    assert found["error_max"] < 1e-4 and found["covered"] == 1
    # K-means: processing is more than the slack of exponential delays.
    dear = told((AionCase("kmeans", "EG", 5_000, 3, 1), "everything", 1))
    assert dear["wait_ms"] > 1_500 and dear["mean_ms"] > 2 * dear["wait_ms"]


def test_aion_is_sooner_than_all_and_aion_minus_waits() -> None:
    found = {name: told((SMALL, name, 1)) for name in POLICIES}
    means = {name: f["mean_ms"] for name, f in found.items()}
    assert means["aion"] < means["aq-k-slack"] < means["aion-minus"] < means["everything"]
    assert found["aion"]["wait_ms"] == 0 and found["aion-minus"]["wait_ms"] > 1_500
    assert found["aion"]["rate"] == pytest.approx(found["aion-minus"]["rate"], rel=0.05)
    assert found["aion"]["rate"] < 0.3 < found["aq-k-slack"]["rate"]


def test_stragglers_are_waited_for_in_the_share_that_is_asked() -> None:
    windows = {}
    for share in (0.0, 0.5, 1.0):
        policy = WaitsFor(share, Aion(of="sum"))
        windows[share] = aion_paper.counted(SMALL.trace(policy, 1))
    late = {share: sum(w.late for w in of) for share, of in windows.items()}
    assert late[0.5] == pytest.approx(late[0.0] / 2, rel=0.1) and late[1.0] == 0


def test_every_task_is_there_once_and_streams_follow_each_other() -> None:
    cases = [SMALL, AionCase("taxi", "CC", 5_000, 6, 1)]
    all_of = list(tasks(cases, seeds=2))
    assert len(set(all_of)) == len(all_of) == 2 * (2 * len(POLICIES) + 1)
    assert [case for case, _, _ in all_of[:5]] == [SMALL] * 5
    assert len(simulate(all_of[4])["errors"]) == len(WAITED_FOR) > 0


def test_what_cannot_be_simulated_is_told() -> None:
    for words in (("trips", "EG", 5_000, 3), ("taxi", "XX", 5_000, 3), ("taxi", "EG", 5_000, 4)):
        with pytest.raises(SettingError):
            AionCase(*words)
    assert AionCase("taxi", "EG", 5_000, 6).windows.slide_ms == 3_000 != AionCase("ysb", "EG", 5_000, 6).windows.slide_ms
    assert policy_named("aion", "ysb").error == 0.05


@pytest.mark.parametrize("workload", WORKLOADS)
def test_policies_are_asked_for_what_live_ones_are(workload: str) -> None:
    asked = QUESTIONS[workload]
    for name in ("aion", "aion-minus"):
        assert policy_named(name, workload) == live_policy_named(name, asked.of, asked.least)


def test_figures_are_drawn_of_what_there_is() -> None:
    assert aion_figures.aion([]) == []
    records = [
        {"policy": name, "setting": SMALL.told(), "seed": 1, **simulate((SMALL, name, 1))} for name in ("aion", "stragglers")
    ]
    titles = [title for title, _, _ in aion_figures.aion(records)]
    assert len(titles) == 4 and titles[-1].startswith("What stragglers are worth")


def test_streams_that_no_claim_names_are_known() -> None:
    assert AionCase("kmeans", "EG", 5_000, 3).claimed and AionCase("ysb", "GG", 5_000, 6).claimed
    assert not AionCase("kmeans", "GG", 25_000, 6).claimed and not AionCase("ysb", "GG", 1_000, 3).claimed
