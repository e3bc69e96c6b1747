"""What a new incarnation copies from what earlier ones have left."""

import pytest

from headway.errors import HeadwayError
from headway.fleet.moves.folders import CopyBasis, FolderSeen, copy_basis

OLD = FolderSeen("e1", True, planned=7, committed=7)


def test_after_a_drain_the_state_is_copied_and_nothing_is_planned() -> None:
    assert copy_basis("q", [OLD], fresh=False) == CopyBasis("e1", 7)


def test_after_a_death_in_mid_batch_the_plan_of_that_batch_comes_along() -> None:
    assert copy_basis("q", [FolderSeen("e1", True, 8, 7)], fresh=False) == CopyBasis("e1", 7, "e1")


def test_going_home_takes_the_state_of_the_old_folder_and_the_plan_of_the_target() -> None:
    """The target may have put its first batch out before it died: home must run that very batch."""
    target = FolderSeen("e2", True, planned=8, committed=7)
    assert copy_basis("q", [OLD, target], fresh=False) == CopyBasis("e1", 7, "e2")


def test_going_home_after_commits_of_the_target_goes_on_from_there() -> None:
    target = FolderSeen("e2", True, planned=10, committed=9)
    assert copy_basis("q", [OLD, target], fresh=False) == CopyBasis("e2", 9, "e2")


def test_a_copy_that_was_not_finished_has_never_run() -> None:
    assert copy_basis("q", [OLD, FolderSeen("e2", False, 7, 7)], fresh=False) == CopyBasis("e1", 7)


def test_what_an_older_one_plans_after_it_was_copied_counts_for_nothing() -> None:
    woken = FolderSeen("e1", True, planned=9, committed=8)
    assert copy_basis("q", [woken, FolderSeen("e2", True, 8, 7)], fresh=False) == CopyBasis("e1", 8)


def test_the_first_of_all_begins_from_nothing_and_nobody_else_does() -> None:
    assert copy_basis("q", [], fresh=True) == copy_basis("q", [FolderSeen("e1", False)], fresh=True) == CopyBasis(None, -1)
    with pytest.raises(HeadwayError, match=r"query 'q': none of its checkpoints is there \(e1\)"):
        copy_basis("q", [FolderSeen("e1", False)], fresh=False)
