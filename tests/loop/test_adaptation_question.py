"""Adaptation as a question of the kernel: guards, what is news, and a journal that decides the same again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from headway.cli.app import app
from headway.cli.explain import account
from headway.dashboard.reading import JournalFile
from headway.loop import codec
from headway.loop.journal import Journal, JournalReader
from headway.loop.kernel import Entry, Kernel
from headway.loop.questions.adaptation import ADAPTATION, adaptation, is_news
from headway.loop.replay import again, replay
from headway.model.adaptation import (
    AdaptationDecision,
    AdaptationMemory,
    AreaView,
    Degrade,
    Keep,
    PastChange,
    Reassign,
    Replan,
    ScaleDown,
    ScaleOut,
)
from headway.model.area import Site
from headway.model.geo import Deployment
from headway.model.time import WallMs
from headway.policy.adaptation import NoAdapt, ReassignOnly, ReplanOnly, Wasp
from headway.sim.wan.truth import AreaTruth
from headway.sim.wan.world import WanWorld
from model.areas import MB, NOW, area, chain, healthy, running, trees, view, with_link

PLAN = chain()
SENT = {"a": 4_000.0, "b": 4_000.0}
HERE, THERE = running(PLAN, 3, mid={0: 1}), running(PLAN, 3, mid={2: 1})


def asked(seen: AreaView, wish: AdaptationDecision) -> AdaptationDecision:
    """What becomes of a wish, in a kernel with the guards of the question."""

    class Wishes(NoAdapt):
        def decide(self, seen: AreaView, memory: AdaptationMemory) -> tuple[AdaptationDecision, AdaptationMemory]:
            return wish, memory

    class NoBook:
        def append(self, entry: Entry) -> None: ...
        def batch(self, seen: Any, view: Any) -> None: ...
        def note(self, at: WallMs, query: str, text: str) -> None: ...

    question = adaptation("p", Wishes(), lambda now: seen, lambda decided, now: "done")
    decided = Kernel(NoBook()).ask(question, NOW)
    assert decided is not None
    return decided


def strained(ms: int = 60_000, **more: object) -> AreaView:
    rates = healthy(PLAN, SENT, strained_ms=ms)
    return view(area(), PLAN, HERE, rates, **more)


WISH = Reassign("mid", THERE, "a reason")
LEFT = PastChange(WallMs(NOW - 100_000), "mid", "re-assign", THERE.tasks[2], HERE.tasks[2])


def test_a_wish_within_the_limits_is_granted_as_it_is() -> None:
    assert asked(strained(), WISH) == WISH and asked(strained(), Keep("all is well")) == Keep("all is well")


@pytest.mark.parametrize(
    ("seen", "wish", "says"),
    [
        (strained(changing=True), WISH, "a change is under way"),
        (strained(29_999), WISH, "for 29999 ms only, and below 30000 ms it may be a spike"),
        (strained(changed_at=WallMs(NOW - 39_999), past=(LEFT,)), WISH, "and has 40000 ms to settle"),
        (strained(past=(LEFT,)), WISH, "it left there 100000 ms ago by re-assign"),
        (strained(), Reassign("mid", running(PLAN, 3, mid={0: 3}), "a reason"), "s0 has 2 slots, not 4"),
        (strained(), Reassign("mid", Deployment(((1, 0),) * 4), "a reason"), "it is for 2 sites, and there are 3"),
        (strained(), Degrade(10_000, "a reason"), "no row of p may be dropped"),
    ],
)
def test_a_wish_beyond_them_is_refused_with_the_reason_behind_its_own(
    seen: AreaView, wish: AdaptationDecision, says: str
) -> None:
    decided = asked(seen, wish)
    assert isinstance(decided, Keep) and decided.because.startswith("a reason; but ") and says in decided.because


def test_guards_let_pass_what_they_are_not_about() -> None:
    assert asked(strained(0), ScaleDown("mid", HERE, "x")) == ScaleDown("mid", HERE, "x")
    assert asked(strained(may_degrade=True), Degrade(5, "x")) == Degrade(5, "x")
    assert asked(strained(), Degrade(None, "x")) == Degrade(None, "x")
    old = replace(LEFT, at=WallMs(NOW - 240_000))
    assert asked(strained(past=(old,)), WISH) == WISH
    too_small = replace(LEFT, technique="scale-down")
    back = ScaleOut("mid", THERE, "x")
    assert asked(strained(past=(too_small,)), back) == back  # what was taken away in error comes back at once
    assert asked(strained(past=(LEFT,)), Replan(PLAN, THERE, "x")) == Replan(PLAN, THERE, "x")


def test_a_site_that_lies_about_its_slots_gets_no_more_than_it_has() -> None:
    told = area((9, 9, 9))
    wish = Reassign("mid", running(PLAN, 3, mid={2: 3}), "x")
    assert asked(replace(strained(), area=told), wish) == wish
    honest = replace(told, sites=(*told.sites[:2], Site("s2", 2)))
    decided = asked(replace(strained(), area=honest), wish)
    assert isinstance(decided, Keep) and "s2 has 2 slots, not 3" in decided.because


def test_only_news_is_written() -> None:
    assert is_news(Keep("x"), None) and is_news(WISH, Keep("x")) and is_news(Keep("x"), WISH) and is_news(WISH, WISH)
    assert not is_news(Keep("mid processes 5 of 7"), Keep("mid processes 4 of 9")) and is_news(Keep("a"), Keep("b"))


@settings(max_examples=25, deadline=None)
@given(plan=trees(), sent=st.floats(100, 20_000), thin=st.floats(0.001, 2.0), policy=st.sampled_from([Wasp(), ReplanOnly()]))
def test_a_view_comes_back_as_it_went_and_would_be_decided_the_same(
    plan: Any, sent: float, thin: float, policy: Wasp
) -> None:
    where = with_link(area((9, 9, 9)), "s1", "s0", thin * MB)
    deployed = running(plan, 3, **{s.name: {0: 1} for s in plan.stages if s.free})
    rates = [
        replace(r, processed=0.8 * r.processed, waiting=1e5)
        for r in healthy(plan, {s.name: sent for s in plan.stages if s.kind == "source"})
    ]
    seen = view(where, plan, deployed, rates, alternatives=(plan,), past=(LEFT,))
    decided, memory = policy.decide(seen, AdaptationMemory())
    back, said, knew = (codec.told(codec.tell(value)) for value in (seen, decided, memory))
    assert (back, said, knew) == (seen, decided, memory)
    assert policy.decide(back, AdaptationMemory()) == (decided, memory) and policy.decide(back, knew) == policy.decide(
        seen, memory
    )


def played(path: Path, policy: Any = None) -> WanWorld:
    """Ten minutes in which the link into a stage's site becomes thin, with a journal."""
    import numpy as np

    where = area((3, 3, 3), 2 * MB)
    steps = 600
    factor = np.ones((steps, 3, 3))
    factor[100:, 1, 0] = 0.1
    truth = AreaTruth(
        where, ("a", "b"), np.array([4_000.0, 4_000.0]), factor, np.ones((steps, 2)), np.ones((steps, 3), bool)
    )  # fmt: skip
    journal = Journal(path)
    world = WanWorld(truth, (PLAN,), HERE, policy or Wasp(), journal, seed=1)
    world.run()
    journal.close()
    return world


def test_a_journal_of_a_wide_area_is_decided_the_same_again_bit_for_bit(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    world = played(path)
    entries = list(JournalReader(path).entries(ADAPTATION))
    changes = [e for e in entries if isinstance(e.decided, Reassign)]
    assert world.trace.changes and len(changes) == len(world.trace.changes) and world.engine.lawful()
    assert [entry for entry, _ in replay(JournalReader(path).entries(ADAPTATION), Wasp())] == []
    assert again(changes[0], Wasp()) == changes[0].proposed and list(replay(entries, NoAdapt()))
    assert changes[0].scope == "chain" and changes[0].policy == "Wasp"


def test_a_decision_is_explained_and_another_policy_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    played(path, ReassignOnly(t_max_s=100.0))
    reader = JournalFile(path)
    moved = next(e for e in reader.entries(ADAPTATION) if isinstance(e.decided, Reassign))
    lines = list(account(reader, "chain", moved.at))
    assert lines[1].startswith("  decided   re-assign mid; begun, 10.0 MB of state move")
    text = "\n".join(lines)
    assert "policy    ReassignOnly(t_max_s=100.0)" in text and "mid: s2" in text and "10.0 MB from s0 to s2" in text
    assert "expected  mid processes" in text and "rates     mid:" in text
    shown = CliRunner().invoke(app, ["replay", str(path), "--policy", "no-adapt"])
    assert shown.exit_code == 0 and "was: re-assign mid" in shown.output, shown.output
