"""The cost of an orchestrator: nodes without Spark, and a small measurement on a real ZooKeeper."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.app import app
from headway.fleet.node.wire import status_in
from headway_lab.experiments.fleet_cost.light_nodes import LightNode
from headway_lab.harness.ledger import Ledger


def test_a_light_node_tells_what_a_node_would_and_only_what_is_new() -> None:
    node = LightNode(7, queries=12)
    node.began -= 30.0
    whole, short = status_in(node.body(-100)), status_in(node.body(29))
    assert whole.node == "n0007" and len(whole.queries) == 12 and whole.sequence >= 31
    assert [len(query.rates) for query in whole.queries] == [whole.sequence] * 12
    assert [len(query.rates) for query in short.queries] == [short.sequence - 29] * 12
    assert all(query.rows == 100 * whole.sequence and query.commits > 9 for query in whole.queries)


@pytest.mark.spark
def test_a_real_orchestrator_hears_all_of_them_and_its_time_is_counted(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    words = [
        "bench",
        "fleet-cost",
        "--nodes",
        "4",
        "--queries",
        "3",
        "--seconds",
        "2",
        "--settle",
        "1",
        "--ledger",
        str(ledger),
    ]
    found = CliRunner().invoke(app, words)
    assert found.exit_code == 0, found.output
    (record,) = Ledger(ledger).records()
    assert record["experiment"] == "fleet-cost" and record["kind"] == "no-spark" and record["period_s"] == 1.0
    assert record["core_share"] > 0 and record["setting"] == {"nodes": 4, "queries": 3, "settle": 1, "seconds": 2}
