"""How a primary makes sure that an incarnation is over, in memory and on a real ZooKeeper."""

import pytest

from fleet.trees import World
from headway.errors import SettingError
from headway.fleet.barring import bar
from headway.fleet.election import Leading, TreeElection
from headway.fleet.leases import QueryLeasing
from headway.fleet.session import Session
from headway.fleet.store import Deposed


def elected(world: World, root: str, who: str = "o1") -> tuple[Session, Leading]:
    session = world.open(who)
    election = TreeElection(session, root, who)
    office = election.turn()
    assert isinstance(office, Leading)
    return session, office


def test_a_lease_that_is_held_is_not_barred_and_one_that_was_given_back_is(world: World, root: str) -> None:
    session, leading = elected(world, root)
    node = QueryLeasing(world.open("n1"), root)
    lease = node.take("counts", "n1", 4)
    assert bar(session, root, leading, "counts", 4) is False and lease.sure()
    lease.release()
    assert bar(session, root, leading, "counts", 4) is True
    with pytest.raises(SettingError, match="token = 4: expected more than 4"):
        node.take("counts", "n1", 4)
    assert QueryLeasing(world.open("n2"), root).take("counts", "n2", 5).token == 5


def test_an_epoch_that_nobody_has_taken_yet_is_barred_too_and_twice_is_once(world: World, root: str) -> None:
    session, leading = elected(world, root)
    for _ in range(2):
        assert bar(session, root, leading, "counts", 3) is True
    with pytest.raises(SettingError, match="token = 3"):
        QueryLeasing(world.open("n1"), root).take("counts", "n1", 3)


def test_a_lease_whose_session_is_over_can_be_barred(world: World, root: str) -> None:
    session, leading = elected(world, root)
    holder = world.open("n1")
    lease = QueryLeasing(holder, root).take("counts", "n1", 1)
    holder.close()
    assert bar(session, root, leading, "counts", 1) is True and not lease.sure()


def test_who_is_the_primary_no_more_bars_nothing(world: World, root: str) -> None:
    session, old = elected(world, root)
    TreeElection(session, root, "o1").resign()
    elected(world, root, "o2")
    assert isinstance(bar(session, root, old, "counts", 1), Deposed)
    assert QueryLeasing(world.open("n1"), root).take("counts", "n1", 1).token == 1
