"""Who decides, in memory and on a real ZooKeeper: never two at once, and each leadership with a greater epoch."""

from fleet.trees import LASTING_MS, PLACED, Placed, World, heard
from headway.fleet.election import Away, Following, Leading, Office, TreeElection
from headway.fleet.session import NodeChanged, Session, SessionMessage, SessionState
from headway.fleet.store import Deposed, PutRecord, TreeStore, Written


def leads(office: Office) -> Leading:
    assert isinstance(office, Leading), office
    return office


def put(session: Session, root: str, by: Leading, query: str) -> object:
    return TreeStore(session, root).write(by, PutRecord(PLACED, query, Placed(query, "north")))


def test_the_first_leads_and_the_next_knows_who(world: World, root: str) -> None:
    first, second = (TreeElection(world.open(who), root, who) for who in ("first", "second"))
    assert leads(first.turn()).epoch == 1 and first.sure()
    assert second.turn() == Following("first") and not second.sure()
    assert leads(first.turn()).epoch == 1, "to be asked again is no new leadership"


def test_who_resigns_is_followed_at_once_and_writes_no_more(world: World, root: str) -> None:
    told: list[SessionMessage] = []
    one, other = world.open("first"), world.open("second", told.append)
    first, second = TreeElection(one, root, "first"), TreeElection(other, root, "second")
    before = leads(first.turn())
    second.turn()
    assert isinstance(put(one, root, before, "books"), Written)
    first.resign()
    assert not first.sure()
    world.until(lambda: any(isinstance(message, NodeChanged) for message in told), "the next is told")
    assert leads(second.turn()).epoch == 2
    assert put(one, root, before, "films") == Deposed("epoch 1 is over: another orchestrator has been made leader")
    assert first.turn() == Following("second"), "it stands again, at the end of the line"


def test_one_whose_session_is_given_up_is_followed_and_cannot_write(world: World, root: str) -> None:
    one, other = world.open("first"), world.open("second")
    first, second = TreeElection(one, root, "first"), TreeElection(other, root, "second")
    before = leads(first.turn())
    second.turn()
    world.expire(one)
    assert not first.sure() and isinstance(first.turn(), Away)
    assert leads(second.turn()).epoch == 2
    assert isinstance(put(other, root, before, "books"), Deposed), "not even through another's session"


def test_a_leader_steps_down_while_the_server_is_away_and_leads_again_with_a_new_epoch(world: World, root: str) -> None:
    one, other = (world.open(who, timeout_ms=LASTING_MS) for who in ("first", "second"))
    first, second = TreeElection(one, root, "first"), TreeElection(other, root, "second")
    before = leads(first.turn())
    second.turn()
    world.down()
    assert not first.sure() and one.breaks == 1
    assert isinstance(first.turn(), Away) and isinstance(second.turn(), Away)
    world.up()
    assert not first.sure(), "what was true before the break need not be true after it"
    world.until(lambda: isinstance(heard(first.turn), Leading) or one.state is SessionState.OVER, "it leads again")
    world.until(lambda: isinstance(heard(second.turn), Following), "the other follows again")
    after = leads(first.turn())
    assert after.epoch > before.epoch and isinstance(put(one, root, before, "books"), Deposed)


def test_of_three_the_line_moves_up_one_by_one(world: World, root: str) -> None:
    sessions = [world.open(who) for who in ("first", "second", "third")]
    elections = [TreeElection(session, root, f"number {n}") for n, session in enumerate(sessions)]
    offices = [election.turn() for election in elections]
    assert [isinstance(office, Leading) for office in offices] == [True, False, False]
    elections[1].resign()
    assert elections[2].turn() == Following("number 0"), "whoever was before it is gone, and was not the leader"
    elections[0].resign()
    assert leads(elections[2].turn()).epoch == 2


def test_no_candidate_is_left_in_the_line_by_who_has_closed_its_session(world: World, root: str) -> None:
    one, other = world.open("first"), world.open("second")
    TreeElection(one, root, "first").turn()
    TreeElection(other, root, "second").turn()
    assert len(other.children(f"{root}/line")) == 2
    one.close()
    world.until(lambda: len(other.children(f"{root}/line")) == 1, "its place is free")
    assert one.state is SessionState.OVER
