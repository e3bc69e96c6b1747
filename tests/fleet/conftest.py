"""Worlds for the fleet's scripts: each is run in memory, and on a real ZooKeeper."""

import itertools
from collections.abc import Iterator

import pytest

from fleet.trees import MemoryWorld, RunningZooKeeper, World, ZooKeeperWorld

_roots = itertools.count(1)


@pytest.fixture
def root() -> str:
    """A part of the tree that nobody else uses."""
    return f"/test-{next(_roots)}"


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.spark)])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    if request.param == "memory":
        memory = MemoryWorld()
        yield memory
        memory.close()
        return
    running: RunningZooKeeper = request.getfixturevalue("zookeeper")
    real = ZooKeeperWorld(running.server)
    yield real
    real.close()
    if not real.server.alive:
        real.up()
    running.server = real.server
