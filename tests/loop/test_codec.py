from math import inf

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headway.estimate.substreams import SubStreams
from headway.estimate.tail import Tail
from headway.loop import codec
from headway.model.deadline import Grid
from headway.model.decision import Decision, Grant, Hold
from headway.model.patience import PatienceView
from headway.model.sampling import GroupSeen, Sampling, SubStreamSeen
from headway.model.view import Snapshot
from headway.policy.order import Klink
from headway.policy.patience import Fixed, MaxDelay, Quantile
from headway.policy.sampling import Aion
from model.making import NOW, snapshots

texts = st.text(max_size=30)
decisions: st.SearchStrategy[Decision] = st.builds(Grant, texts, st.none() | st.integers(0, 1 << 45), texts) | st.builds(
    Hold, st.integers(0, 1 << 45), texts
)


@given(decisions)
def test_a_decision_comes_back_as_it_went(decision: Decision) -> None:
    assert codec.decision(codec.dumps(decision)) == decision


@given(snapshots())
def test_a_view_comes_back_as_it_went(snap: Snapshot) -> None:
    assume(snap.queries)
    assert [codec.query_view(codec.dumps(view)) for view in snap.queries] == list(snap.queries)


@given(snapshots())
def test_a_snapshot_comes_back_and_would_be_decided_the_same_again(snap: Snapshot) -> None:
    wish, done = Klink().decide(snap), Hold(NOW, "held")
    views = [codec.dumps(v) for v in snap.queries]
    back = codec.snapshot(NOW, snap.slots, codec.dumps(snap.memory), views)
    assert back == snap and Klink().decide(back) == wish
    assert codec.decision(codec.dumps(done)) == done


def test_what_is_worked_out_is_not_written_down() -> None:
    from model.making import query

    assert '"due"' not in codec.dumps(query("a", due_in=5)) and '"inputs"' in codec.dumps(query("a"))


tails = st.builds(
    lambda bins, memory: Tail(memory).add(tuple(bins)),
    st.lists(st.tuples(st.floats(-1e3, 1e6), st.floats(0.1, 1e4)), min_size=1, max_size=8),
    st.sampled_from([inf, 200.0]),
)


@given(st.lists(tails, max_size=3), st.booleans())
def test_delays_come_back_and_patience_would_be_decided_the_same_again(parts: list[Tail], old: bool) -> None:
    seen = PatienceView(tuple(parts), old, 5_000)
    back = codec.told(codec.tell(seen))
    assert codec.tell(back) == codec.tell(seen)
    for policy in (Quantile(0.9), MaxDelay(), Fixed("3 s")):
        assert policy.decide(back) == policy.decide(seen)


def test_a_stream_comes_back_and_sampling_would_be_decided_the_same_again() -> None:
    cells = [SubStreamSeen(k, 700, 70_000, 8e6, 700, 900, 1_500, 70_000) for k in range(120)]
    seen = SubStreams(100, 3_000, 3_000).add(cells, [GroupSeen(-(1 << 62), 9, 9, 9)], [(100.0, 9.0), (90.0, 8.0)], 17).view()
    back = codec.told(codec.tell(seen))
    assert back == seen and Aion().decide(back) == Aion().decide(seen)
    decided = Sampling(0.1, (1.0, 0.5), 30, "enough", {-(1 << 62): 0.5}, 80)
    assert codec.told(codec.tell(decided)) == decided


def test_what_no_journal_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="Grid is not among the kinds"):
        codec.tell(Grid(5))
