"""Nodes that are there, in memory and on a real ZooKeeper."""

import pytest

from fleet.trees import World
from headway.errors import SettingError
from headway.fleet.registry import NodeRegistration, Registry
from headway.fleet.session import NodeChanged, SessionMessage

NORTH = NodeRegistration("north", "127.0.0.1:7001", cores=2)


def test_a_node_is_there_while_its_session_lives(world: World, root: str) -> None:
    told: list[SessionMessage] = []
    one, primary = world.open("north"), world.open("primary", told.append)
    Registry(one, root).enter(NORTH)
    assert Registry(primary, root).present(watch=True) == {"north": NORTH}
    world.expire(one)
    world.until(lambda: any(isinstance(message, NodeChanged) for message in told), "the primary is told")
    assert Registry(primary, root).present() == {}


def test_to_enter_twice_is_once_and_to_leave_is_at_once(world: World, root: str) -> None:
    session = world.open("north")
    nodes = Registry(session, root)
    nodes.enter(NORTH)
    moved = NodeRegistration("north", "127.0.0.1:7002")
    nodes.enter(moved)
    assert nodes.present() == {"north": moved}
    nodes.leave("north")
    nodes.leave("north")
    assert nodes.present() == {}


def test_two_nodes_of_one_name_are_told(world: World, root: str) -> None:
    one, other = world.open("north"), world.open("another")
    Registry(one, root).enter(NORTH)
    with pytest.raises(SettingError, match=r"node = 'north': expected a name .* the one on 127\.0\.0\.1:7001 has it"):
        Registry(other, root).enter(NodeRegistration("north", "127.0.0.1:7009"))
    Registry(other, root).leave("north")
    assert Registry(other, root).present() == {"north": NORTH}, "nobody leaves for somebody else"
