"""Leases of queries, in memory and on a real ZooKeeper: one holder at a time, and tokens that grow."""

from collections.abc import Callable

import pytest

from fleet.trees import LASTING_MS, TIMEOUT_MS, World
from headway.errors import SettingError
from headway.fleet.leases import QueryLeasing
from headway.fleet.session import Session, SessionMessage, SessionState
from headway.lease.port import Lease, Leasing

REFUSED = r"checkpoint = '/books': expected one that no running query uses; query 'books' of north uses it"

Of = Callable[..., tuple[Session, QueryLeasing]]


@pytest.fixture
def leasing(world: World, root: str) -> Of:
    def of(who: str, timeout_ms: int = TIMEOUT_MS) -> tuple[Session, QueryLeasing]:
        session = world.open(who, timeout_ms=timeout_ms)
        return session, QueryLeasing(session, root)

    return of


def test_one_has_it_and_the_next_gets_a_greater_token(leasing: Of) -> None:
    (_, north), (_, south) = leasing("north"), leasing("south")
    port: Leasing = north
    lease: Lease = port.acquire("/books", "query 'books' of north")
    assert lease.token == 1 and lease.sure() and lease.lost is None
    with pytest.raises(SettingError, match=REFUSED):
        south.acquire("/books", "query 'books' of south")
    with pytest.raises(SettingError, match=REFUSED):
        north.acquire("/books", "another query of north")
    lease.release()
    lease.release()
    assert not lease.sure()
    assert south.acquire("/books", "query 'books' of south").token == 2


def test_who_was_refused_leaves_nobody_behind_in_a_line(leasing: Of, root: str) -> None:
    (session, north), (_, south) = leasing("north"), leasing("south")
    held = north.acquire("/books", "query 'books' of north")
    for _ in range(5):
        with pytest.raises(SettingError, match="uses it"):
            south.acquire("/books", "query 'books' of south")
    assert session.children(f"{root}/leases/%2Fbooks") == ("held",)
    held.release()
    assert session.children(f"{root}/leases/%2Fbooks") == ()


def test_it_is_lost_with_its_session_and_the_next_has_a_greater_token(world: World, leasing: Of) -> None:
    (session, north), (_, south) = leasing("north"), leasing("south")
    lease = north.acquire("/books", "query 'books' of north")
    world.expire(session)
    assert not lease.sure()
    next_one = south.acquire("/books", "query 'books' of south")
    assert next_one.token == 2
    lease.renew()
    assert lease.lost is not None and not lease.sure()
    lease.release()
    assert next_one.sure(), "to give back what was lost takes nothing from anybody"


def test_nobody_is_sure_while_the_server_is_away_for_long_and_a_session_that_lives_on_keeps_it(
    world: World, leasing: Of
) -> None:
    session, north = leasing("north", 5_000)
    lease = north.acquire("/books", "query 'books' of north")
    world.down()
    world.until(lambda: not lease.sure(), "our own clock says so")
    world.up()
    world.until(lambda: lease.sure() or session.state is SessionState.OVER, "it is sure again")
    lease.renew()
    assert lease.lost is None and lease.sure(), "the server has given its session all of its time again"


def test_a_token_that_was_given_out_must_be_greater_than_the_last(leasing: Of) -> None:
    (_, north), (_, south) = leasing("north"), leasing("south")
    lease = north.take("books", "north", token=7)
    assert north.take("books", "north", token=7) is lease, "asked twice, it is the same"
    lease.release()
    with pytest.raises(SettingError, match="token = 7: expected more than 7, which 'books' has had already"):
        south.take("books", "south", token=7)
    assert south.take("books", "south", token=9).token == 9


def test_what_could_not_be_given_back_is_given_back_with_the_next_beat(world: World, leasing: Of, root: str) -> None:
    (_, north), (other, south) = leasing("north", LASTING_MS), leasing("south", LASTING_MS)
    lease = north.acquire("/books", "query 'books' of north")
    world.down()
    with pytest.raises(Exception, match=r"suspended|no answer"):
        lease.release()
    assert not lease.sure()
    world.up()
    world.until(lambda: other.children(f"{root}/leases/%2Fbooks") == (), "it is free, though its session lives")
    assert south.acquire("/books", "query 'books' of south").token == 2


def test_checkpoints_of_one_query_exclude_each_other_if_that_is_wanted(world: World, root: str) -> None:
    one, other = world.open("north"), world.open("south")
    by_query = [QueryLeasing(s, root, query_of=lambda checkpoint: checkpoint.split("/")[0]) for s in (one, other)]
    by_query[0].acquire("books/epoch-1", "the first")
    with pytest.raises(SettingError, match=r"checkpoint = 'books/epoch-2': expected one .* the first uses it"):
        by_query[1].acquire("books/epoch-2", "the second")


def test_one_who_may_wait_gets_it_when_the_holder_is_gone(world: World, root: str) -> None:
    told: list[SessionMessage] = []
    one, other = world.open("north", told.append), world.open("south")
    QueryLeasing(one, root).acquire("/books", "query 'books' of north")
    patient = QueryLeasing(other, root, wait_s=5, pause=lambda seconds: one.close())
    assert patient.acquire("/books", "query 'books' of south").token == 2
