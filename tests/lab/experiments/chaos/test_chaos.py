"""Faults under real queries, and how a sink with late rows is compared with the truth."""

import random
from collections import Counter
from pathlib import Path

import pytest

from headway_lab.experiments.chaos import disks
from headway_lab.experiments.chaos.plan import ChaosPlan, keeps_late
from headway_lab.experiments.chaos.run import ChaosOutcome, FaultRecord, chaos, compare
from headway_lab.harness.file_sink import SinkTally, Written
from headway_lab.workloads.ysb import AdPane

PLAN = ChaosPlan(seed=5, epoch_ms=1_700_000_000_000, boot_ms=0, address="broker", rate=50)
UNTIL = PLAN.epoch_ms + 20_000


def true_rows() -> dict[str, Written]:
    return {name: list(stream.truth(UNTIL + 9_000).items()) for name, stream in PLAN.streams().items()}


def without(rows: Written, pane: AdPane, n: int) -> Written:
    return [(p, count - n if p == pane else count) for p, count in rows]


def judged(rows: dict[str, Written], kept: Counter[AdPane] | None = None, unkept: int = 0) -> SinkTally:
    return compare(PLAN, rows, {"made_late": kept or Counter()}, Counter(made_late=unkept), UNTIL)


def test_the_truth_passes_with_and_without_late_rows() -> None:
    assert judged(true_rows()).wrong == 0 and judged(true_rows()).windows >= 45


def test_a_row_that_was_refused_must_be_kept_or_counted() -> None:
    rows = true_rows()
    pane = rows["made_late"][0][0]
    rows["made_late"] = without(rows["made_late"], pane, 1)
    assert judged(rows).missing == 1
    assert judged(rows, Counter({pane: 1})).wrong == 0
    assert judged(rows, unkept=1).wrong == 0
    assert judged(rows, Counter({pane: 2})).miscounted == 1, "a row that is kept twice, or was counted as well"


def test_a_query_that_may_refuse_nothing_has_no_excuse() -> None:
    rows = true_rows()
    pane = rows["kafka"][0][0]
    rows["kafka"] = without(rows["kafka"], pane, 1)
    assert not keeps_late("kafka") and judged(rows, unkept=9).miscounted == 1


def test_a_pane_that_came_out_twice_is_told_also_where_rows_are_late() -> None:
    rows = true_rows()
    rows["made_late"].append(rows["made_late"][0])
    assert judged(rows).twice == 1


def test_who_is_stuck_is_wrong() -> None:
    stuck = ChaosOutcome(
        [FaultRecord("lines cut", 0.1, None, 3), FaultRecord("lines cut", 0.1, 2.5, 3)], SinkTally(), 0, 0, []
    )
    assert (stuck.stuck, stuck.wrong) == (1, 1)


def test_a_disk_is_filled_to_the_last_byte_and_freed(tmp_path: Path) -> None:
    with disks.disks([tmp_path / "small"]) as mounted:
        if not mounted:
            pytest.skip("this user may not mount: then `bench chaos` says that it leaves these faults out")
        disks.fill(tmp_path / "small")
        assert _refused(tmp_path / "small" / "row")
        disks.free(tmp_path / "small")
        assert not _refused(tmp_path / "small" / "row")


def _refused(file: Path) -> bool:
    try:
        file.write_bytes(random.randbytes(4_096))
    except OSError:
        return True
    return False


@pytest.mark.spark
def test_two_faults_under_real_queries_lose_nothing(tmp_path: Path) -> None:
    told: list[FaultRecord] = []
    outcome = chaos(
        2, 3, ["lines cut", "policy raises"], lambda what, left: None, lambda n, h: told.append(h) if h else None,
        tmp_path, kafka=False,
    )  # fmt: skip
    assert outcome.wrong == 0 and outcome.happened == told and outcome.tally.windows > 6
