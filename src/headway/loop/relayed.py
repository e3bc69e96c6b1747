"""Inputs that other stages of ours write: their punctuations say how far each is complete, and nothing else has a say.

No clock rules such an input, no frontier of its rows and no patience. What its upstream tells of its own delays says when
the next word may be expected.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from headway.estimate.completeness import Completeness, CompletenessStanding
from headway.loop.inputs import InputTracker
from headway.model.deadline import Deadlines
from headway.model.message import Heard, InputSpec
from headway.model.time import EventMs, WallMs
from headway.model.view import UpstreamView

STALE_MS = 5_000  # a stage that says nothing for so long is spoken of


class Relays:
    """What was heard in the topics that inputs read, kept when the controller begins anew."""

    def __init__(self) -> None:
        self._known: dict[str, Completeness] = {}

    def heard(self, message: Heard, now: WallMs) -> Completeness:
        known = self._known.get(message.topic) or Completeness(now)
        for partition, said in message.said:
            known = known.heard(partition, said, now)
        self._known[message.topic] = known
        return known

    def of(self, topic: str) -> Completeness | None:
        return self._known.get(topic)


@dataclass
class RelayedInput(InputTracker):
    """The history of an input whose upstream says how far it is complete."""

    deadlines: Deadlines = Deadlines(())
    stale: bool = False  # it was said that the stage which is waited for says nothing

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.spec.relayed is not None
        upstream = UpstreamView(self.spec.relayed)
        self.view = replace(self.view, live=True, source_sends=True, upstream=upstream, held_most_ms=None)

    def heard(self, known: Completeness, now: WallMs) -> tuple[bool, str | None]:
        """Take in what its upstream has said. Says whether that changes what is to be done, and what is news."""
        before = self.view.upstream
        assert before is not None
        seen = known.standing(now, self.spec.stages, self.spec.idle_after_ms)
        news = self._news(before, seen)
        # What goes by the time itself takes a row at the watermark for late.
        reached = None if seen.complete is None else EventMs(seen.complete - self.spec.strict)
        complete = max((x for x in (before.complete, reached) if x is not None), default=None)
        moved = complete != before.complete
        if complete is not None:  # what is expected is expected of the next window
            coming = self.deadlines.after(complete)
            seen = known.standing(now, self.spec.stages, self.spec.idle_after_ms, coming)
        passed = ", ".join(one.stage for one in seen.passed) or None
        more = set(_names(passed)) - set(_names(before.passed))
        upstream = UpstreamView(
            before.topic, complete, now if moved else before.complete_at,
            waits_for=None if seen.slowest is None else seen.slowest.stage,
            heard_at=None if seen.slowest is None else WallMs(now - seen.slowest.silent_ms),
            passed=passed,
            passes=before.passes + len(more),
            told_at=None if seen.told_ms is None else WallMs(now - seen.told_ms),
        )  # fmt: skip
        self.view = replace(
            self.view, upstream=upstream, frontier=complete, slowest=complete, delay=seen.lag or self.view.delay,
            patience_ms=self.view.patience_ms if seen.lag is None else max(0, round(seen.lag.mean_ms)),
        )  # fmt: skip
        return moved or passed != before.passed, news

    def _news(self, before: UpstreamView, seen: CompletenessStanding) -> str | None:
        told = []
        known = _names(before.passed)
        for one in seen.passed:
            if one.stage not in known:
                told.append(f"{before.topic}: goes on without stage {one.stage}, silent for {one.silent_ms} ms")
        back = set(known) - {one.stage for one in seen.passed}
        told += [f"{before.topic}: stage {stage} speaks again" for stage in sorted(back)]
        slow = seen.slowest
        stale = slow is not None and slow.silent_ms >= STALE_MS
        if slow is not None and stale and not self.stale:
            told.append(f"{before.topic}: waits for stage {slow.stage}, which has said nothing for {slow.silent_ms} ms")
        self.stale = stale
        return "; ".join(told) or None

    # ---- what other inputs go by says nothing here

    def saw(self, *what: object, **more: object) -> None:
        """Rates, costs and late rows are learnt as of any input; its own delays are not those of its watermark."""
        delay = self.view.delay
        super().saw(*what, **more)  # type: ignore[arg-type]
        self.view = replace(self.view, delay=delay)

    def found_none(self, at: WallMs, asked: WallMs | None = None) -> None:
        """Its upstream tells that there is nothing."""

    def _wait(self, patience_ms: int) -> None:
        self._heard = None

    def _judge(self, slow_parts: bool) -> None:
        """The clock never rules."""


def heard_by(inputs: Iterable[InputTracker], topic: str, known: Completeness, now: WallMs) -> tuple[bool, str | None]:
    """Each input that reads this topic takes it in: whether that changes anything, and what is news."""
    told = [i.heard(known, now) for i in inputs if isinstance(i, RelayedInput) and i.spec.relayed == topic]
    return any(changed for changed, _ in told), "; ".join(news for _, news in told if news) or None


def relayed_input(spec: InputSpec, deadlines: Deadlines, confidence: float, known: Completeness | None) -> RelayedInput:
    """One that begins with what was heard before it did."""
    made = RelayedInput(spec, confidence=confidence, deadlines=deadlines)
    if known is not None:
        made.heard(known, WallMs(max((one.at for one in known.stages.values()), default=known.since)))
    return made


def _names(text: str | None) -> list[str]:
    return [] if text is None else text.split(", ")
