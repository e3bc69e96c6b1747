"""Which folder an incarnation goes on from, where some are on the disks of other nodes, and some cannot be seen at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import HeadwayError
from headway.fleet.node.checkpoints import CheckpointTold, OriginSeen, choice, theirs

URL = "http://127.0.0.1:1"


def seen(place: str, complete: bool = True, promised: str | None = None, url: str | None = None) -> OriginSeen:
    return OriginSeen(CheckpointTold(place, True, complete, f"mark of {place}", promised=promised), url)


def unseen(place: str) -> OriginSeen:
    return OriginSeen(CheckpointTold(place))


def test_the_newest_complete_one_is_taken_wherever_it_is() -> None:
    found = choice([seen("e1"), seen("e2", url=URL), seen("e3", complete=False)])
    assert found is not None and (found.seen.told.place, found.seen.url) == ("e2", URL)


def test_on_a_disk_that_all_see_nothing_is_written_down() -> None:
    found = choice([seen("e1"), seen("e2")])
    assert found is not None and not found.promised


def test_who_copies_from_another_node_has_that_written_down() -> None:
    found = choice([seen("e1", url=URL)])
    assert found is not None and found.promised


def test_a_newer_one_that_cannot_be_seen_never_ran_if_the_older_was_promised_to_nobody() -> None:
    found = choice([seen("e1"), unseen("e2")])
    assert found is not None and found.seen.told.place == "e1"
    assert found.promised  # so that who has e2, and was only slow, is refused from now on


def test_nothing_older_is_taken_than_what_may_lie_on_a_dead_nodes_disk() -> None:
    with pytest.raises(
        HeadwayError, match=r"checkpoint = 'e2': no node that answers has it, and 'e1' is older: start the node"
    ):
        choice([seen("e1", promised="e2"), unseen("e2")])


def test_a_promise_to_one_that_was_never_complete_is_given_to_another() -> None:
    found = choice([seen("e1", promised="e2", url=URL), seen("e2", complete=False)])
    assert found is not None and (found.seen.told.place, found.instead) == ("e1", "e2")


def test_where_none_is_complete_there_is_nothing_to_go_on_from() -> None:
    assert choice([]) is None and choice([unseen("e1"), seen("e2", complete=False)]) is None


lives = st.lists(st.sampled_from(["complete", "begun", "unseen"]), min_size=1, max_size=6)


@given(lives, st.integers(0, 5))
def test_never_is_one_taken_that_a_newer_one_may_have_gone_on_from(states: list[str], promised_to: int) -> None:
    """Whatever is there: behind what is chosen there is none complete, and none unseen that it was promised to."""
    made = [
        unseen(f"e{n}") if state == "unseen" else seen(f"e{n}", state == "complete", f"e{promised_to}")
        for n, state in enumerate(states)
    ]
    last = max((n for n, state in enumerate(states) if state == "complete"), default=None)
    lost = last is not None and promised_to in [n for n, state in enumerate(states) if state == "unseen" and n > last]
    if lost:
        with pytest.raises(HeadwayError):
            choice(made)
        return
    found = choice(made)
    assert (found is None) == (last is None)
    assert found is None or found.seen is made[last or 0]


def told(mark: str | None, hosted: bool = False, complete: bool = True) -> CheckpointTold:
    return CheckpointTold("e1", True, complete, mark, hosted)


def test_a_folder_with_the_mark_of_its_maker_is_on_a_disk_that_both_see() -> None:
    assert theirs(told("run 7"), {URL: told("run 7", hosted=True)}) is None


def test_a_folder_of_the_same_name_that_another_fleet_has_left_is_not_taken_for_it() -> None:
    assert theirs(told("run 3"), {URL: told("run 7", hosted=True)}) == URL
    assert theirs(told(None), {URL: told("run 7", hosted=True)}) == URL


def test_what_is_not_here_is_had_from_who_has_it_complete() -> None:
    other = "http://127.0.0.1:2"
    nothing = CheckpointTold("e1")
    assert theirs(nothing, {URL: told("m", complete=False), other: told("m")}) == other
    assert theirs(nothing, {URL: nothing}) is None and theirs(told("m"), {URL: nothing}) is None
