"""Windows answered from samples in virtual time: the live sampler and kernel decide, and write it down."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from headway.estimate.bounds import Answer, Certainty, Sums
from headway.loop.journal import Journal, JournalReader
from headway.loop.replay import replay
from headway.loop.sampler import CELL_MS
from headway.model.offset import MILLION, Sampled
from headway.model.sampling import Sampling, SamplingPolicy, StreamView
from headway.policy.sampling import Aion, AionMinus, AQKSlack, Everything
from headway.sim.microbatch import Notebook
from headway.sim.sampled_rows import SampledRows, WindowSample, cells, histogram, read
from headway.sim.samples import Costs, SampledWorld, Windows, held_ms, rates

THREE, SLIDING = Windows(3_000, 3_000), Windows(6_000, 3_000)
CHEAP = Costs(fixed_ms=10, read_ms=0.0, row_ms=0.001)
POLICIES = [Everything(), AQKSlack(), AionMinus(), Aion()]
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda p: type(p).__name__)


@dataclass(frozen=True)
class Mean:
    dear: bool = False

    def exact(self, all_rows: WindowSample) -> float:
        return float(all_rows.value.mean())

    def answer(self, sample: WindowSample, sure: Certainty) -> Answer:
        return Sums.of(sample.value, sample.rate).mean(sure)


@dataclass(frozen=True)
class Wild:
    """Asks for more than there is, later than it may."""

    error: float = 0.05
    confidence: float = 0.95
    most_ms: int = 400

    def decide(self, seen: StreamView) -> Sampling:
        return Sampling(1.5, (1.0,) * seen.places, 9_000, "more than all")


def made(seconds: int = 30, rate: int = 1_000, seed: int = 1) -> SampledRows:
    rng = np.random.default_rng(seed)
    n = seconds * rate
    event = np.cumsum(rng.gamma(2.0, 0.5, n)) * (1000 / rate)
    arrival = event + np.rint(np.minimum(rng.exponential(240, n), 1_800))
    order = np.argsort(arrival, kind="stable")
    return SampledRows(event[order], arrival[order], rng.gamma(4.0, 2.0, n), rng.random(n))


@every_policy
@pytest.mark.parametrize("windows", [THREE, SLIDING], ids=["tumbling", "sliding"])
def test_a_simulated_journal_replays_to_the_same_decisions(policy: SamplingPolicy, windows: Windows, tmp_path: Path) -> None:
    """Bit for bit, from the file: what was seen is all that a decision rests upon."""
    journal = Journal(tmp_path / "journal.db")
    out = SampledWorld(Mean(), made(), windows, policy, CHEAP, journal).run().windows
    journal.close()
    told = list(JournalReader(tmp_path / "journal.db").entries("sampling"))
    assert len(out) > 5 and told and {entry.scope for entry in told} == {"query/rows"}
    assert not list(replay(told, policy))
    # Each line is of the moment when a batch was done.
    assert {entry.at for entry in told} <= {round(w.end_ms + w.latency_ms) for w in out}


@every_policy
def test_a_journal_changes_nothing(policy: SamplingPolicy) -> None:
    rows, book = made(), Notebook()
    with_book, without = (SampledWorld(Mean(), rows, THREE, policy, CHEAP, j).run() for j in (book, None))
    assert book.entries and with_book.windows == without.windows


def test_another_policy_would_have_decided_otherwise() -> None:
    book = Notebook()
    SampledWorld(Mean(), made(), THREE, Everything(), CHEAP, book).run()
    assert list(replay(book.entries, Aion()))


def test_what_a_policy_wishes_is_guarded_as_live() -> None:
    book = Notebook()
    out = SampledWorld(Mean(), made(), THREE, Wild(), CHEAP, book).run().windows
    (entry,) = book.entries  # it never changes its mind
    assert (entry.proposed.wait_ms, entry.decided.wait_ms, entry.decided.share) == (9_000, 400, 1.0)
    assert "bounded" in entry.decided.because and {w.wait_ms for w in out[1:]} == {400}


def test_rows_are_taken_by_the_rates_of_the_offset_and_answers_are_as_sure_as_it_says() -> None:
    half, early = MILLION // 2, MILLION // 4
    offset = Sampled(share=early, arrived=(MILLION, MILLION, half, early, 0), sub_ms=600, every_ms=3_000)
    assert rates(offset).tolist() == [0.25, 0.25, 0.5, 1.0, 1.0]
    out = SampledWorld(Mean(), made(60), THREE, Aion(error=0.1), CHEAP).run().windows[5:]
    assert all(w.answer.seen < 1 for w in out) and np.mean([w.answer.holds(w.exact) for w in out]) > 0.9
    assert 0.02 < np.mean([w.answer.sample / w.rows for w in out]) < 0.5


def test_a_batch_tells_of_all_its_rows_and_of_the_longest_delay() -> None:
    rows, batch = made(10), slice(2_000, 7_000)
    told = cells(rows, batch)
    assert sum(cell.rows for cell in told) == 5_000
    assert sum(cell.value for cell in told) == pytest.approx(rows.value[batch].sum())
    one = told[len(told) // 2]
    mine = (rows.event_ms[batch] // CELL_MS) == one.index
    delay, value = (rows.arrival_ms - rows.event_ms)[batch][mine], rows.value[batch][mine]
    assert one.delay_value == pytest.approx(delay @ value) and one.value_cube == pytest.approx((value**3).sum())
    bins = histogram(rows, batch)
    assert sum(n for _, n in bins) == 5_000 and bins[-1][0] == round((rows.arrival_ms - rows.event_ms)[batch].max())
    assert (
        histogram(rows, slice(0, 0)) == () and cells(rows, slice(0, 0)) == [] and read("rows", rows, slice(0, 0)).rows == 0
    )
    seen = read("rows", rows, batch)
    assert (seen.rows, seen.newest, seen.foremost) == (5_000, *[int(rows.event_ms[batch].max())] * 2)


def test_a_window_is_held_until_each_sub_stream_has_the_rows_it_must_have() -> None:
    at = np.arange(0.0, 3_000.0, 10.0)
    rows = SampledRows(at, at + np.where(at < 2_400, 5.0, 700.0), np.ones(300), np.zeros(300))
    said = Sampling(1.0, (1.0,) * 5, 0, "", least=(10.0,) * 4 + (20.0,), until_ms=900)
    assert held_ms(rows, 3_000.0, said, 600) == pytest.approx(2_400 + 190 + 700 - 3_000)
    assert held_ms(rows, 3_000.0, replace(said, least=(90.0,)), 600) == 900  # rows that there will never be
    assert held_ms(rows, 3_000.0, replace(said, least=()), 600) == 0
