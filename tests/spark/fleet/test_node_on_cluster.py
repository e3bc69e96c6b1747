"""`headway node --master spark://...`: two nodes share a cluster, and a query moves from one to the other."""

import os
import sys
from pathlib import Path

import pytest

from headway_lab.harness.standalone import environment, standalone
from spark.fleet.moving import Fleet
from spark.scripted import wait_until
from spark.test_cluster import SMALL

pytestmark = pytest.mark.spark


def test_a_query_moves_between_nodes_whose_tasks_run_on_a_cluster(tmp_path: Path) -> None:
    with standalone(workers=2, folder=tmp_path / "cluster") as cluster:
        conf = SMALL | {"spark.cores.max": "1", "spark.sql.shuffle.partitions": "1"}
        options = [word for pair in conf.items() for word in ("--conf", "=".join(pair))]
        env = os.environ | environment(tmp_path) | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        fleet = Fleet(tmp_path, "--master", cluster.url, *options, env=env)
        try:
            apps = {app["name"]: app["cores"] for app in cluster.state()["activeapps"]}
            assert apps == {"headway-a": 1, "headway-b": 1}
            fleet.a.did("start", "counts", 1, **fleet.plan("counts", 1))
            fleet.a.await_commits("counts", 1, 3)
            fleet.b.did("prepare", "counts", 2, **fleet.plan("counts", 2, 1))
            drained = fleet.a.did("drain", "counts", 1, next_epoch=2)
            plan = fleet.plan("counts", 2, 1)
            fleet.b.did("start", "counts", 2, batch=drained.batch, experience=drained.experience, **plan)
            fleet.b.await_commits("counts", 2, 3)
            wait_until(lambda: fleet.windows("counts") >= 5, "five windows")
            there = fleet.b.hosted("counts")
            assert there is not None and there.epoch == 2 and fleet.check("counts") >= 5
        finally:
            codes = fleet.end()
        assert codes == [0, 0], "both stop their queries between two batches, and leave the cluster"
        wait_until(lambda: not cluster.state()["activeapps"], "the cluster to have no application")
