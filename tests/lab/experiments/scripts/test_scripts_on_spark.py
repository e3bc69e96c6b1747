"""Scripts on real Spark: what is played, rebuilt from Spark's logs and judged; and that a wrong result is noticed."""

import json
from pathlib import Path
from typing import Any

import pytest

from headway_lab.experiments.scripts.on_spark import playable, side_by_side
from headway_lab.experiments.scripts.on_spark.record import record
from headway_lab.experiments.scripts.on_spark.verdict import judged
from headway_lab.experiments.scripts.virtual.script import Action, Script, ScriptInput, ScriptQuery

LENGTH_MS = 6_000
LONG_MS = 120_000  # it is over when it is over


def rows(at: int, *events: int | None, kind: str = "rows") -> Action:
    return {"do": "rows", "at": at, "query": "q", "input": "a", "kind": kind, "events": list(events)}


def stream(**more: Any) -> Action:
    return {"do": "stream", "at": 0, "until": LENGTH_MS + LONG_MS, "query": "q", "input": "a", "every": 200, **more}


BUSY = Script(
    (ScriptQuery(inputs=(ScriptInput(patience_ms=500),), window_ms=1_000, fixed_ms=playable.BATCH_MS),),
    (
        stream(),
        rows(2_000, None, 40 * 86_400_000, kind="future"),
        {"do": "restart", "at": 2_500, "query": "q", "down": 0, "settings": {}},
        rows(5_500, -30_000, -29_000, kind="late"),
    ),
    LENGTH_MS,
)
NIGHTLY = Script(
    (ScriptQuery(inputs=(ScriptInput(patience_ms=500),), window_ms=1_000, bounded=True, fixed_ms=playable.BATCH_MS),),
    (stream(until=LENGTH_MS),),
    LENGTH_MS,
)


def over(part: side_by_side.StagedScript) -> bool:
    """Whether it was started twice and has put out a few windows."""
    out = [json.loads(file.read_text()) for file in (part.folder / "headway").glob("*.json")]
    return len(part.settings) == 2 and sum(map(len, out)) >= (4 if part.query.bounded else 6)


@pytest.mark.spark
def test_scripts_are_played_rebuilt_and_judged(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "ALIGNED_MS", 1_000)
    monkeypatch.setattr(side_by_side, "CLOSING_MS", LONG_MS)
    (busy, nightly), end = side_by_side.play(spark, [(1, BUSY), (2, NIGHTLY)], tmp_path / "played", over)
    found = record(busy, end)
    verdict = judged(busy, found)
    assert not verdict.wrong
    assert len(found.history.starts) == 2 and verdict.batches > 2 and verdict.windows >= 6
    assert verdict.refused == len(found.late) <= 2, "on a busy machine nothing was swept before they came"
    assert len(found.aside) == 1
    other = judged(nightly, record(nightly, end))
    assert not other.wrong and other.windows >= 4

    sink = next(f for f in sorted((busy.folder / "headway").iterdir()) if json.loads(f.read_text()))
    told = json.loads(sink.read_text())
    ends = next(iter(told))
    sink.write_text(json.dumps({**told, ends: told[ends][1:]}))
    assert any("put out" in says for says in judged(busy, record(busy, end)).wrong), "a row that is missing is noticed"


def test_playable_scripts_are_what_real_spark_can_play() -> None:
    for number in range(100):
        script = playable.script(1, number)
        query = script.queries[0]
        assert len(script.queries) == 1 and query.window_ms <= playable.MOST_WINDOW_MS
        assert {a["do"] for a in script.actions} <= set(playable.PLAYED)
        assert all(a.get("released", 0) <= script.length_ms + side_by_side.ROWS_MS for a in script.actions)
        assert query.bounded or any(a.get("kind") == "fresh" for a in script.actions)
    assert playable.script(1, 3) == playable.script(1, 3) != playable.script(2, 3)
