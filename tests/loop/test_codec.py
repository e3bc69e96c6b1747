from hypothesis import given
from hypothesis import strategies as st

from headway.loop import codec
from headway.model.decision import Decision, Grant, Hold
from headway.model.view import Snapshot
from headway.policy.order import Klink
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
    for view in snap.queries:
        assert codec.query_view(codec.dumps(view)) == view


@given(snapshots())
def test_an_entry_comes_back_and_would_be_decided_the_same_again(snap: Snapshot) -> None:
    wish, done = Klink().decide(snap), Hold(NOW, "held")
    views = [codec.dumps(v) for v in snap.queries]
    entry = codec.entry(NOW, codec.dumps(done), codec.dumps(wish), "held", snap.slots, codec.dumps(snap.memory), views)
    assert (entry.at, entry.seen, entry.proposed, entry.decided, entry.receipt) == (NOW, snap, wish, done, "held")
    assert Klink().decide(entry.seen) == wish


def test_what_is_worked_out_is_not_written_down() -> None:
    from model.making import query

    assert '"due"' not in codec.dumps(query("a", due_in=5)) and '"inputs"' in codec.dumps(query("a"))
