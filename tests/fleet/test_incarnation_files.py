"""How little of a checkpoint is enough, and that nothing of that may lack."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.fleet.incarnation import MEMORY, CopyPlan, IncarnationMark, least, mark_in

DESCRIBED = ("state/0/_metadata/metadata", "state/0/0/_metadata/schema", "metadata")


def checkpoint(
    begun: int, done: int, *more: str, deltas: Iterable[int] = (), snapshots: Iterable[int] = ()
) -> dict[str, int]:
    """A checkpoint with HDFS-backed state, as Spark leaves it."""
    names = [*DESCRIBED, *more, *(f"offsets/{n}" for n in range(begun + 1)), *(f"commits/{n}" for n in range(done + 1))]
    names += [f"state/0/0/{n}.delta" for n in deltas] + [f"state/0/0/{n}.snapshot" for n in snapshots]
    return dict.fromkeys(names, 10)


def plan(sizes: dict[str, int], have: Iterable[str] = ()) -> CopyPlan:
    return least(sizes, lambda name: frozenset(), frozenset(have))


def test_the_last_two_offsets_the_last_commit_and_the_newest_state_are_enough() -> None:
    sizes = checkpoint(9, 9, "sources/0/0", MEMORY, deltas=range(1, 11), snapshots=(4, 8))
    found = plan(sizes)
    assert (found.batch, found.begun, found.missing) == (9, 9, ())
    state = {"state/0/0/8.snapshot", "state/0/0/9.delta", "state/0/0/10.delta"}
    logs = {"offsets/9", "offsets/8", "commits/9", "sources/0/0"}
    assert found.files == {*DESCRIBED, *state, *logs, MEMORY}


def test_a_batch_that_was_begun_is_run_again_from_the_state_before_it() -> None:
    sizes = checkpoint(10, 9, deltas=range(1, 12), snapshots=(11,))  # it has written its state already
    found = plan(sizes)
    assert (found.batch, found.begun) == (9, 10)
    assert {"offsets/10", "offsets/9", "commits/9"} <= found.files and "commits/8" not in found.files
    assert not found.files & {"state/0/0/11.delta", "state/0/0/11.snapshot"}


def test_a_first_batch_that_was_begun_needs_no_state() -> None:
    found = plan({"metadata": 1, "offsets/0": 1, "state/0/0/1.delta": 1, "sources/0/0": 1})
    assert (found.batch, found.begun, found.missing) == (None, 0, ())
    assert found.files == {"metadata", "offsets/0", "sources/0/0"}


def test_a_query_that_has_never_begun_a_batch_needs_its_id_and_its_sources() -> None:
    found = plan({"metadata": 1, "sources/0/0": 1})
    assert found == CopyPlan(frozenset({"metadata", "sources/0/0"}), (), None, None)


@pytest.mark.parametrize(
    "lost",
    ["metadata", "offsets/9", "offsets/8", "commits/9", *(f"state/0/0/{n}" for n in ("8.snapshot", "9.delta", "10.delta"))],
)
def test_what_is_needed_and_not_there_is_missed(lost: str) -> None:
    sizes = checkpoint(9, 9, deltas=range(9, 11), snapshots=(8,))
    assert plan(sizes).missing == ()
    del sizes[lost]
    found = plan(sizes)
    assert found.missing or (found.batch, found.begun) != (9, 9)


def test_a_snapshot_that_the_copy_has_spares_another_one() -> None:
    sizes = checkpoint(29, 29, deltas=range(1, 31), snapshots=(20, 28))
    assert "state/0/0/28.snapshot" in plan(sizes).files
    near = plan(sizes, ["state/0/0/20.snapshot"]).files
    assert "state/0/0/20.snapshot" in near and "state/0/0/28.snapshot" not in near
    assert {f"state/0/0/{n}.delta" for n in range(21, 31)} <= near
    far = checkpoint(40, 40, deltas=range(1, 42), snapshots=(20, 38))
    assert "state/0/0/38.snapshot" in plan(far, ["state/0/0/20.snapshot"]).files  # too many changes since


def test_each_store_of_a_join_is_looked_at_for_itself() -> None:
    names = [f"state/0/0/{store}/{n}.delta" for store in ("left", "right") for n in range(1, 4)]
    sizes = checkpoint(2, 2, *names, "state/0/0/left/2.snapshot")
    found = plan(sizes).files
    assert {"state/0/0/left/2.snapshot", "state/0/0/left/3.delta"} <= found and "state/0/0/left/1.delta" not in found
    assert {f"state/0/0/right/{n}.delta" for n in (1, 2, 3)} <= found


def test_of_rocksdb_a_snapshot_brings_what_it_shares_with_others() -> None:
    shared = {"state/0/0/7.zip": frozenset({"SSTs/a.sst", "logs/b.log"})}
    names = ["state/0/0/6.zip", "state/0/0/7.zip", "state/0/0/SSTs/a.sst", "state/0/0/SSTs/old.sst", "state/0/0/logs/b.log"]
    sizes = checkpoint(6, 6, *names)
    found = least(sizes, lambda name: shared.get(name, frozenset()))
    state = {name for name in found.files if name.startswith("state/0/0/") and "_" not in name}
    assert state == {"state/0/0/7.zip", "state/0/0/SSTs/a.sst", "state/0/0/logs/b.log"} and found.missing == ()
    del sizes["state/0/0/SSTs/a.sst"]
    assert least(sizes, lambda name: shared.get(name, frozenset())).missing == ("state/0/0/SSTs/a.sst",)


def test_an_older_snapshot_that_the_copy_has_is_of_no_use_where_nothing_follows_it() -> None:
    sizes = checkpoint(6, 6, *(f"state/0/0/{n}.zip" for n in range(1, 8)))
    found = plan(sizes, ["state/0/0/5.zip"])
    assert "state/0/0/7.zip" in found.files and "state/0/0/5.zip" not in found.files and found.missing == ()


def test_of_rocksdb_with_changelogs_those_after_the_snapshot_come_along() -> None:
    sizes = checkpoint(6, 6, "state/0/0/5.zip", *(f"state/0/0/{n}.changelog" for n in range(1, 9)))
    assert {"state/0/0/5.zip", "state/0/0/6.changelog", "state/0/0/7.changelog"} <= plan(sizes).files
    assert not plan(sizes).files & {"state/0/0/5.changelog", "state/0/0/8.changelog"}


def test_where_several_files_are_of_one_version_all_are_kept() -> None:
    names = ["state/0/0/1_aa-b.changelog", "state/0/0/2_cc-d.changelog", "state/0/0/2_ee-f.changelog"]
    assert set(names) <= plan(checkpoint(1, 1, *names)).files


def test_of_a_log_that_is_compacted_what_came_since_the_last_but_one_is_enough() -> None:
    plain = [*range(9), *range(10, 19), *range(20, 24)]
    compacted = {"sources/0/9.compact", "sources/0/19.compact"}
    names = [*(f"sources/0/{n}" for n in plain), *compacted]
    found = {n for n in plan(checkpoint(23, 23, *names, deltas=range(1, 25))).files if n.startswith("sources")}
    assert found == compacted | {f"sources/0/{n}" for n in plain if n >= 10}


def test_half_written_files_stay_behind_and_sums_come_along() -> None:
    half = ["state/0/0/.3.delta.aa.tmp", "offsets/.10.bb.tmp", ".metadata.crc", ".headway.lock", ".headway.lease.3"]
    sums = ["state/0/0/2.snapshot.crc", "state/0/0/1.delta.crc"]
    found = plan(checkpoint(1, 1, *half, *sums, deltas=(1, 2), snapshots=(2,))).files
    assert not found & set(half)
    assert {"state/0/0/2.snapshot", sums[0]} <= found and sums[1] not in found


@given(begun=st.integers(1, 60), behind=st.integers(0, 1), snapshots=st.sets(st.integers(1, 62)))
def test_the_least_is_enough_for_itself(begun: int, behind: int, snapshots: set[int]) -> None:
    """What is copied can be copied again, and nothing more is left out."""
    sizes = checkpoint(begun, begun - behind, deltas=range(1, begun + 2), snapshots=snapshots)
    once = plan(sizes)
    again = plan({name: sizes[name] for name in once.files})
    assert once.missing == () and again == once
    version = begun - behind + 1
    base = max((n for n in snapshots if n <= version), default=0)
    assert {f"state/0/0/{n}.delta" for n in range(base + 1, version + 1)} <= once.files


@given(st.builds(IncarnationMark, st.text(), st.integers(), st.text(), st.text(), st.none() | st.text(), st.booleans()))
def test_a_mark_is_read_as_it_was_written(mark: IncarnationMark) -> None:
    assert mark_in(mark.text) == mark and mark.is_of(mark.completed("elsewhere"))


@pytest.mark.parametrize("text", [None, "", "{}", "[]", "7", '{"query": "counts", "epo'])
def test_a_mark_that_is_not_written_to_its_end_is_none(text: str | None) -> None:
    assert mark_in(text) is None
