"""The journal of a run on real Spark replays to the decisions that were made: of every question that a runtime asks."""

import time
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import functions as F

import headway as hw
from headway.loop.journal import JournalReader
from headway.loop.kernel import Entry, named
from headway.loop.replay import replay
from headway.sim.delays import Uniform
from headway_lab.workloads.events import events
from headway_lab.workloads.ysb import Ysb
from spark.scripted import wait_until

pytestmark = pytest.mark.spark

WINDOW_MS = 1_000
ORDER, QUANTILE, DEADLINE, AION = (
    hw.order.Klink(),
    hw.patience.Quantile(0.9),
    hw.patience.Deadline("4 s"),
    hw.sampling.Aion(),
)
# Whose question it is that a policy answers, by the words with which the journal names it.
POLICIES = {
    ("order", named(ORDER)): ORDER,
    ("patience", named(QUANTILE)): QUANTILE,
    ("slack", named(DEADLINE.tunes)): DEADLINE.tunes,
    ("sampling", named(AION)): AION,
}


@pytest.fixture(scope="module")
def entries(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Entry]:
    """Three queries for some seconds: one whose patience adapts, one whose slack threshold is tuned, one that samples."""
    folder = tmp_path_factory.mktemp("replayed")

    def rows(seed: int, slowest_ms: int) -> Any:
        return events(spark, Ysb(seed, 200, time.time_ns() // 1_000_000, Uniform(0, slowest_ms), WINDOW_MS))

    def counted(frame: Any, count: Any) -> Any:
        grouped = frame.groupBy(F.window("event_time", f"{WINDOW_MS} milliseconds")).agg(count.alias("n"))
        return grouped.writeStream.format("noop")

    with hw.Runtime(spark, ORDER, journal=folder / "j.db") as rt:
        adapted = rt.watermark(rows(1, 200), "event_time", QUANTILE, arrival="arrival", name="adapted")
        both = [rt.watermark(rows(n, 100 * n), "event_time", DEADLINE, arrival="arrival", name=f"in{n}") for n in (2, 3)]
        sampled = rt.approximate(rows(4, 200), "event_time", sampling=AION, arrival="arrival", name="sampled")
        writers = {
            "adapts": counted(adapted, F.count("*")),
            "tunes": counted(both[0].union(both[1]), F.count("*")),
            "samples": counted(sampled, hw.approx.count()),
        }
        queries = [rt.start(w, name=name, checkpoint=str(folder / name)) for name, w in writers.items()]
        reader = JournalReader(folder / "j.db")

        def told() -> bool:
            """The threshold is tuned at each window; patience and sampling change with what a stream shows."""
            asked = Counter((entry.question, entry.policy) for entry in reader.entries())
            return asked.keys() == POLICIES.keys() and asked["slack", named(DEADLINE.tunes)] >= 2

        wait_until(told, "a decision about every question", queries[0])
    return list(JournalReader(folder / "j.db").entries())


def test_every_question_is_replayed_to_the_same_answer_bit_for_bit(entries: list[Entry]) -> None:
    asked = Counter((entry.question, entry.policy) for entry in entries)
    assert asked.keys() == POLICIES.keys() and asked["order", named(ORDER)] >= 10
    for key, policy in POLICIES.items():
        own = [entry for entry in entries if (entry.question, entry.policy) == key]
        differing = [(entry.at, entry.proposed, other) for entry, other in replay(own, policy)]
        assert own and differing == [], key


def test_another_policy_would_have_decided_otherwise(entries: list[Entry]) -> None:
    """Else a replay that compares nothing would look the same."""
    others = {"order": hw.order.RoundRobin(), "patience": hw.patience.Fixed("77 ms"), "sampling": hw.sampling.Everything()}
    for question, other in others.items():
        assert list(replay([entry for entry in entries if entry.question == question], other)), question
