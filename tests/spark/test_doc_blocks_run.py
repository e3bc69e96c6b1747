"""The pages' Python is run: on a real session, with rows of the kind that each page speaks of."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import headway as hw
from doc_blocks import ROOT, blocks, of_page
from headway.merge.slack_gate import SlackScaleGate

TWO_LINES = ("README.md", "docs/tutorial.md")
# Rows of a page by their name: a row's time and Spark's own, its number, and the columns that the page uses.
WITH_SESSION: dict[str, dict[str, tuple[str, ...]]] = {
    "docs/patience.md": {"events": ()},
    "docs/supervision.md": {},
    "docs/approximate.md": {"trips": ("cast(value as double) as distance",)},
    "docs/advice.md": {},
    "docs/dashboard.md": {},
    "docs/ordered-merge.md": {
        "bus": ("'a' as area", "cast(5 as double) as speed"),
        "road": ("'a' as area", "100 as cars"),
    },
    "docs/howto/adopt.md": {"events": ("'c' as campaign",)},
    "docs/howto/policies.md": {"events": ("'c' as campaign",)},
}
WITHOUT: dict[str, dict[str, Any]] = {
    "docs/wan.md": {"SITES": ("ohio", "oregon"), "deliver": lambda query: lambda batch, number: None},
    "docs/howto/wide-area.md": {},
    "docs/concepts/questions.md": {"hw": hw},
    "docs/concepts/progress.md": {"hw": hw},
    "docs/concepts/slack.md": {"hw": hw},
    "docs/concepts/one-batch.md": {"hw": hw},
    "docs/concepts/patience.md": {"hw": hw},
    "docs/policies/slack-gate-merge.md": {"SlackScaleGate": SlackScaleGate, "timestamp": 5, "payload": "row"},
}
# Where a page needs more than a session: its blocks are checked in tests/test_doc_blocks.py, and what they do is done there.
ELSEWHERE = {
    "docs/clusters.md": "tests/spark/test_cluster.py",
    "docs/session.md": "tests/spark/test_session.py",
    "docs/kafka.md": "tests/spark/test_kafka.py",
    "docs/late-rows.md": "tests/spark/test_late.py",
    "docs/relay.md": "tests/test_examples.py",
    "docs/tables.md": "tests/test_examples.py",
    "docs/fleet-node.md": "tests/test_examples.py",
    "docs/ecg.md": "tests/lab/experiments/ecg",
    "docs/traffic.md": "tests/lab/experiments/traffic",
    "docs/workloads.md": "tests/lab/workloads",
}


@pytest.mark.spark
@pytest.mark.parametrize("page", TWO_LINES)
def test_the_two_lines_run_as_they_are_written(spark: Any, page: str) -> None:
    (block,) = (one for one in of_page(page) if "rt.await_termination()" in one.text)
    head, _, tail = block.text.partition("rt.await_termination()")
    with known_to(spark, {"events": ("'c' as campaign",)}) as known:
        exec(compile(head, block.id, "exec"), known)
        rt = known["rt"]
        until_a_batch(spark)
        rt.stop()
        exec(f"rt.await_termination(){tail}", known)
        assert rt.status().controller_error is None


@pytest.mark.spark
@pytest.mark.parametrize("page", WITH_SESSION)
def test_what_a_page_shows_runs(spark: Any, page: str) -> None:
    shown = of_page(page)
    with known_to(spark, WITH_SESSION[page]) as known:
        for block in shown:
            exec(compile(block.text, block.id, "exec"), known)
        if any("rt.start(" in block.text for block in shown):
            until_a_batch(spark)
        if "advising" in known:
            known["advising"].stop()
        assert shown and known["rt"].status().controller_error is None


@pytest.mark.parametrize("page", WITHOUT)
def test_what_needs_no_session_runs_too(page: str) -> None:
    known, shown = dict(WITHOUT[page]), of_page(page)
    for block in shown:
        exec(compile(block.text, block.id, "exec"), known)
    assert shown


def test_every_page_with_python_is_run_or_named_with_the_place_where_it_is() -> None:
    pages = {block.page for block in blocks() if block.language == "python"}
    assert pages == {*TWO_LINES, *WITH_SESSION, *WITHOUT, *ELSEWHERE}
    assert {where for where in ELSEWHERE.values() if not (ROOT / where).exists()} == set()


@contextmanager
def known_to(spark: Any, rows: dict[str, tuple[str, ...]]) -> Iterator[dict[str, Any]]:
    """What a reader has before the first block of a page. All queries end with it."""
    rate = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    made = {name: rate.selectExpr("timestamp as event_time", "*", *columns) for name, columns in rows.items()}
    first = hw.Runtime(spark)
    known: dict[str, Any] = {"hw": hw, "F": F, "SparkSession": SparkSession, "spark": spark, "rt": first, **made}
    try:
        yield known
    finally:
        for rt in (first, known["rt"]):  # a page may make its own
            rt.stop()
        for query in spark.streams.active:
            query.stop()


def until_a_batch(spark: Any) -> None:
    """Every query has done one, and none has failed."""
    queries = spark.streams.active
    assert queries
    while any(query.lastProgress is None for query in queries):
        for query in queries:
            assert query.exception() is None
        time.sleep(0.1)
