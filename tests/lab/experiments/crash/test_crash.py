"""Comparing a sink with the truth, without any process being killed."""

import json
from pathlib import Path

from headway_lab.experiments.crash.run import CrashPlan
from headway_lab.harness.file_sink import SinkTally, tally_all, written

PLAN = CrashPlan(seed=5, epoch_ms=1_700_000_000_000, queries=2, rate=50)
UNTIL = PLAN.epoch_ms + 20_000


def true_rows() -> dict[str, list[tuple[tuple[int, int], int]]]:
    return {name: list(stream.truth(UNTIL + 9_000).items()) for name, stream in PLAN.streams().items()}


def test_the_truth_passes_and_windows_after_the_end_do_not_count() -> None:
    tally = tally_all(PLAN.streams(), true_rows(), UNTIL)
    assert tally.wrong == 0
    assert tally.windows >= 12 and tally.panes > 200


def test_a_pane_missing_doubled_or_miscounted_is_told() -> None:
    rows = true_rows()
    mine = rows["crash_0"]
    mine.pop(0)
    mine.append(mine[0])
    mine[1] = (mine[1][0], mine[1][1] + 1)
    tally = tally_all(PLAN.streams(), rows, UNTIL)
    assert (tally.missing, tally.twice, tally.miscounted, tally.wrong) == (1, 1, 1, 3)


def test_a_query_that_wrote_nothing_misses_everything() -> None:
    tally = tally_all(PLAN.streams(), {}, UNTIL)
    assert tally == SinkTally(tally.windows, tally.panes, tally.panes, 0, 0)


def test_the_sink_is_read_query_by_query_and_half_written_files_are_not(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "crash_0"
    folder.mkdir(parents=True)
    (folder / "0.json").write_text(json.dumps([[3_000, 1, 5]]))
    (folder / "1.json").write_text("[]")
    (folder / "2.part").write_text("[[")
    assert written(tmp_path) == {"crash_0": [((3_000, 1), 5)]}


def test_a_restart_sees_the_same_streams() -> None:
    assert CrashPlan(PLAN.seed, PLAN.epoch_ms).streams() == CrashPlan(PLAN.seed, PLAN.epoch_ms).streams()
