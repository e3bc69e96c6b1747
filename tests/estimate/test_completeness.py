"""Completeness by punctuations: no row in flight is ever passed, whatever is read when, and nothing stalls."""

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace

from hypothesis import given
from hypothesis import strategies as st

from headway.estimate.completeness import Completeness
from headway.model.deadline import Grid
from headway.model.punctuation import Punctuation, UpstreamFlow
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView

AT = WallMs(1_000_000)


def said(
    complete: int | None, *, batch: int = 1, stage: str = "a", partitions: int = 1, incarnation: int = 1
) -> Punctuation:
    moment = None if complete is None else EventMs(complete)
    return Punctuation(stage, "lineage", incarnation, batch, "plan", partitions, AT, moment)


def heard(*what: tuple[int, Punctuation]) -> Completeness:
    known = Completeness(AT)
    for partition, one in what:
        known = known.heard(partition, one, AT)
    return known


def complete(known: Completeness, *wanted: str) -> int | None:
    return known.standing(AT, wanted).complete


def test_a_topic_is_complete_when_all_of_its_partitions_are() -> None:
    known = heard((0, said(5_000, partitions=2)))
    assert complete(known) is None
    known = known.heard(1, said(5_000, partitions=2), AT)
    assert complete(known) == 5_000
    known = known.heard(0, said(8_000, batch=2, partitions=2), AT)
    assert complete(known) == 5_000
    assert complete(known.heard(1, said(8_000, batch=2, partitions=2), AT)) == 8_000


def test_the_slowest_stage_decides_and_one_that_was_never_heard_holds_everybody() -> None:
    known = heard((0, said(5_000)), (0, said(3_000, stage="b")))
    assert complete(known) == 3_000
    assert complete(known, "a") == 5_000
    assert complete(known, "a", "c") is None
    assert (slow := known.standing(AT, ("a", "c")).slowest) is not None and slow.stage == "c"


def test_a_topic_that_grows_keeps_what_it_had_until_the_new_partition_has_spoken() -> None:
    known = heard((0, said(5_000)), (0, said(8_000, batch=2, partitions=2)))
    assert complete(known) == 5_000
    assert complete(known.heard(1, said(8_000, batch=2, partitions=2), AT)) == 8_000


def test_what_a_replaced_writer_says_later_in_the_same_partition_is_refused_and_counted() -> None:
    known = heard((0, said(5_000, incarnation=2)), (0, said(9_000, batch=7, incarnation=1)), (0, said(5_000, incarnation=2)))
    assert complete(known) == 5_000
    assert known.refused == 2


def test_partitions_are_not_read_in_step_so_an_older_incarnation_may_be_heard_later_elsewhere() -> None:
    known = heard((0, said(5_000, batch=2, incarnation=2, partitions=2)), (1, said(4_000, partitions=2)))
    assert complete(known) == 4_000
    assert known.refused == 0


def test_a_tiny_regression_neither_takes_anything_back_nor_stalls() -> None:
    known = heard((0, said(5_000, partitions=2)), (1, said(5_000, partitions=2)))
    known = known.heard(0, said(4_999, batch=2, partitions=2), AT)
    assert complete(known) == 5_000
    for n in (0, 1):
        known = known.heard(n, said(8_000, batch=3, partitions=2), AT)
    assert complete(known) == 8_000


def test_a_dead_stage_is_waited_for_and_passed_only_after_idle_after() -> None:
    known = heard((0, said(5_000)), (0, said(9_000, stage="b")))
    later = WallMs(AT + 60_000)
    forever = known.standing(later)
    assert (forever.complete, forever.passed) == (5_000, ())
    assert forever.slowest is not None and (forever.slowest.stage, forever.slowest.silent_ms) == ("a", 60_000)
    known = known.heard(0, said(12_000, stage="b", batch=2), WallMs(AT + 59_000))
    passing = known.standing(later, idle_after_ms=10_000)
    assert passing.complete == 12_000
    assert [(one.stage, one.complete) for one in passing.passed] == [("a", 5_000)]


def test_where_nobody_is_left_to_wait_for_what_was_said_last_is_all_there_is() -> None:
    known = heard((0, said(5_000)), (0, said(9_000, stage="b")))
    assert known.standing(WallMs(AT + 60_000), idle_after_ms=10_000).complete == 9_000
    nobody = Completeness(AT).standing(WallMs(AT + 60_000), ("a",), idle_after_ms=10_000)
    assert nobody.complete is None and [one.stage for one in nobody.passed] == ["a"]


def test_the_stage_that_is_expected_last_says_when_to_expect_the_rest() -> None:
    lag = DelayView(3, 400.0, 1.0, 2.0, 390.0, 410.0)
    quick = replace(said(5_000), flow=UpstreamFlow(lag, (Grid(1_000),)))
    slow = replace(said(4_000, stage="b"), flow=UpstreamFlow(lag, (Grid(4_000),)))
    standing = heard((0, quick), (0, slow)).standing(WallMs(AT + 250), deadline=EventMs(6_000))
    assert standing.lag is not None and (standing.lag.mean_ms, standing.told_ms) == (2_400, 250)
    assert heard((0, quick), (0, said(4_000, stage="b"))).standing(AT, deadline=EventMs(6_000)).lag is None


# ---- laws


@dataclass
class Topic:
    """A log of partitions to which stages write, piece by piece, and which is read at a pace of its own in each of them."""

    chance: random.Random
    partitions: int
    logs: dict[int, list[int | Punctuation]] = field(default_factory=lambda: defaultdict(list))  # rows by their time
    read: dict[int, int] = field(default_factory=lambda: defaultdict(int))


@dataclass
class Writer:
    """A stage: batches of rows, each with its punctuations behind it, by one incarnation after the other."""

    name: str
    topic: Topic
    promised: int = 0
    incarnation: int = 1
    batch: int = 0
    pieces: list[tuple[int, int | Punctuation]] = field(default_factory=list)

    def step(self) -> None:
        """One record more; sometimes it dies in between, and begins the batch again under the next incarnation."""
        chance = self.topic.chance
        if self.pieces and chance.random() < 0.1:
            self.pieces.clear()
            self.incarnation += 1
        if not self.pieces:
            self._begin()
        partition, piece = self.pieces.pop(0)
        self.topic.logs[partition].append(piece)
        if isinstance(piece, Punctuation) and piece.complete is not None:
            self.promised = max(self.promised, piece.complete)
            if not self.pieces:
                self.batch += 1

    def _begin(self) -> None:
        chance, partitions = self.topic.chance, self.topic.partitions
        rows = [self.promised + chance.randint(0, 40) for _ in range(chance.randrange(4))]
        promise = self.promised + chance.randrange(30)
        mark = said(promise, batch=self.batch, stage=self.name, partitions=partitions, incarnation=self.incarnation)
        self.pieces = [(chance.randrange(partitions), at) for at in rows]
        self.pieces += [(n, mark) for n in chance.sample(range(partitions), partitions)]


def steps(topic: Topic, writers: list[Writer], known: Completeness, count: int) -> Completeness:
    for _ in range(count):
        topic.chance.choice(writers).step()
        if topic.chance.random() < 0.05:
            topic.partitions += 1
        known = read_some(topic, known, topic.chance.randrange(3))
    return known


def read_some(topic: Topic, known: Completeness, records: int) -> Completeness:
    for _ in range(records):
        behind = [n for n, log in topic.logs.items() if topic.read[n] < len(log)]
        if behind:
            n = topic.chance.choice(behind)
            piece = topic.logs[n][topic.read[n]]
            topic.read[n] += 1
            if isinstance(piece, Punctuation):
                known = known.heard(n, piece, AT)
    return known


@given(chance=st.integers(0, 2**32).map(random.Random), stages=st.integers(1, 3), partitions=st.integers(1, 4))
def test_no_row_in_flight_is_ever_passed(chance: random.Random, stages: int, partitions: int) -> None:
    topic = Topic(chance, partitions)
    writers = [Writer(f"stage-{n}", topic) for n in range(stages)]
    names = tuple(w.name for w in writers)
    known, looks = Completeness(AT), list[tuple[int, dict[int, int]]]()
    for _ in range(40):
        known = steps(topic, writers, known, 3)
        if (moment := complete(known, *names)) is not None:
            looks.append((moment, dict(topic.read)))
    known = steps(topic, writers, known, 20)
    assert [moment for moment, _ in looks] == sorted(moment for moment, _ in looks)
    for moment, read in looks:
        coming = [at for n, log in topic.logs.items() for at in log[read.get(n, 0) :] if isinstance(at, int)]
        assert all(at >= moment for at in coming)
    assert complete(known, *names) is not None or not looks


@given(chance=st.integers(0, 2**32).map(random.Random), stages=st.integers(1, 3), partitions=st.integers(1, 4))
def test_what_all_stages_have_promised_is_reached_when_all_is_read(
    chance: random.Random, stages: int, partitions: int
) -> None:
    topic = Topic(chance, partitions)
    writers = [Writer(f"stage-{n}", topic) for n in range(stages)]
    known = steps(topic, writers, Completeness(AT), 60)
    for writer in writers:  # each comes to the end of a batch that no death broke off
        writer.pieces.clear()
        writer.incarnation += 1
        writer._begin()
        for partition, piece in writer.pieces:
            topic.logs[partition].append(piece)
            if isinstance(piece, Punctuation) and piece.complete is not None:
                writer.promised = max(writer.promised, piece.complete)
    known = read_some(topic, known, 10_000)
    assert complete(known, *(w.name for w in writers)) == min(w.promised for w in writers)


@given(chance=st.integers(0, 2**32).map(random.Random))
def test_a_stage_that_died_is_not_passed_while_it_is_waited_for(chance: random.Random) -> None:
    topic = Topic(chance, 2)
    alive, dead = Writer("alive", topic), Writer("dead", topic)
    known = read_some(topic, steps(topic, [alive, dead], Completeness(AT), 60), 10_000)
    stands = complete(known, "alive", "dead")
    known = read_some(topic, steps(topic, [alive], known, 60), 10_000)
    limit = known.stages["dead"].complete if "dead" in known.stages else None
    assert complete(known, "alive", "dead") == (None if limit is None else min(limit, known.stages["alive"].complete or 0))
    assert stands is None or limit is not None
