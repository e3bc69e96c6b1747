"""The bench of pipelines in stages: what it makes of what the last stage has written."""

import json
from pathlib import Path

from headway_lab.experiments.relay.run import RelayRun, _outcome
from headway_lab.experiments.relay.sink import stamped
from headway_lab.experiments.relay.stages import WINDOW_MS, RelayPlan

EPOCH_MS = 1_700_000_000_000 // WINDOW_MS * WINDOW_MS
PLAN = RelayPlan(0, "relay", 1, EPOCH_MS, "nowhere", pipelines=1, rate=50)
UNTIL = EPOCH_MS + 4 * WINDOW_MS


def written(folder: Path, lateness_ms: int, drop: int = 0) -> None:
    """What the last stage would put out, window by window; without so many of the counts."""
    out = folder / "out" / "0"
    out.mkdir(parents=True)
    truth = sorted(PLAN.stream(0).truth(UNTIL).items())
    for number, end in enumerate(range(EPOCH_MS + WINDOW_MS, UNTIL + 1, WINDOW_MS)):
        rows = [(at, campaign, count) for (at, campaign), count in truth if at == end][drop:]
        (out / f"{number}.json").write_text(json.dumps({"at": end + lateness_ms, "rows": rows}))
    for stage in (1, 2, 3):
        (folder / f"late-{stage}").write_text(str(stage - 1))


def test_latency_is_from_the_end_of_a_window_until_it_is_out(tmp_path: Path) -> None:
    written(tmp_path, 1_234)
    found = _outcome(PLAN, tmp_path, EPOCH_MS + WINDOW_MS, UNTIL)
    assert (found.windows, found.mean_ms, found.p99_ms) == (3, 1_234.0, 1_234.0)
    assert (found.wrong, found.late) == (0, 3)


def test_a_count_that_is_missing_is_seen(tmp_path: Path) -> None:
    written(tmp_path, 10, drop=1)
    found = _outcome(PLAN, tmp_path, EPOCH_MS, UNTIL)
    assert found.missing == found.wrong == 4


def test_a_window_is_out_with_its_last_row(tmp_path: Path) -> None:
    for number, at in enumerate((10, 20)):
        (tmp_path / f"{number}.json").write_text(json.dumps({"at": at, "rows": [(3_000, number, 1)]}))
    rows, out = stamped(tmp_path)
    assert rows == [((3_000, 0), 1), ((3_000, 1), 1)] and out == {3_000: 20}


def test_the_setting_of_a_run_leaves_out_what_varies() -> None:
    assert RelayRun("alone", 3, 2, 200, 30, 10).setting == {"pipelines": 2, "rate": 200, "seconds": 30, "settle": 10}
