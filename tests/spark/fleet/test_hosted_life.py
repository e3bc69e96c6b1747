"""What a node tells of a life that it hosts, without Spark."""

from types import SimpleNamespace
from typing import Any, cast

from headway.model.status import LastBatch, QueryStatus
from headway.model.time import EventMs, WallMs
from headway.spark.fleet.life import HostedLife


def status(batches: int, rows: int, **more: Any) -> QueryStatus:
    last = LastBatch(batches, 10, 300, WallMs(1_012_000), EventMs(1_010_000))
    return QueryStatus(
        "a", "at the gate", WallMs(1_000), last=last, batches=batches, rows=rows, busy_ms=300 * batches, **more
    )


def test_a_life_that_was_drained_tells_of_its_last_batch_and_of_nothing_before_it() -> None:
    made, nothing = cast(Any, SimpleNamespace(place="a/epoch-2")), cast(Any, None)
    life = HostedLife("a", 2, "a.py", made, nothing, [], 16.0)
    assert life.told(status(4, 400)).rows == 0, "it is prepared; an earlier life of the query here is none of it"
    life.begins(status(4, 400))
    assert (life.told(status(6, 1_000)).rows, life.told(status(6, 1_000)).commits) == (600, 2)
    life.turn("drained")
    told = life.told(status(7, 2_400, swept=EventMs(1_010_000)))
    assert (told.state, told.rows, told.commits, told.busy_ms) == ("drained", 2_000, 3, 900)
    assert (told.watermark, told.latency_ms) == (1_010_000, 2_000)
    assert life.told(None).state == "drained"
