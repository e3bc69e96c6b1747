"""Views for tests: short hands for writing one down, and strategies that make up any number of them."""

from dataclasses import replace
from random import Random
from typing import Any

from hypothesis import strategies as st

from headway.estimate.due import worked_out
from headway.model.deadline import Deadlines, Grid
from headway.model.time import EventMs, WallMs
from headway.model.view import DelayView, InputView, MemoryView, QueryView, Snapshot

PERIODS = (500, 1_000, 2_000, 3_000, 5_000, 6_000, 60_000)
ALIGNED_MS = 60_000  # a shift by this keeps every grid in its place
NOW = WallMs(28_333_333 * ALIGNED_MS)


def stream(name: str = "rows", patience_ms: int = 200, **more: Any) -> InputView:
    """A live input that has been read until a moment ago."""
    return InputView(name, patience_ms, **{"live": True, "frontier": EventMs(NOW - 50), "rows_per_s": 1_000.0, **more})


def viewed(*arguments: Any, **more: Any) -> QueryView:
    """A view as its maker hands it out."""
    return worked_out(QueryView(*arguments, **more))


def again(view: QueryView, **changes: Any) -> QueryView:
    """The same query with something else known of it."""
    return worked_out(replace(view, **changes))


def query(name: str, *inputs: InputView, period_ms: int = 3_000, due_in: int | None = None, **more: Any) -> QueryView:
    """A query at the gate whose next window, announced ahead, falls due in so many milliseconds from NOW."""
    inputs = inputs or (stream(),)
    patience = max(i.patience_ms for i in inputs)
    known: dict[str, Any] = {"waiting_since": WallMs(NOW - 10), "granted_at": WallMs(NOW - 1_000), "ahead": True}
    deadlines = Deadlines((Grid(period_ms),))
    if due_in is not None:
        end = NOW + due_in - patience
        deadlines = Deadlines((Grid(period_ms, end % period_ms),))
        known |= {"announced": EventMs(end), "swept": EventMs(end - period_ms)}
    return viewed(name, inputs, **{"deadlines": deadlines, **known, **more})


def snapshot(*queries: QueryView, **more: Any) -> Snapshot:
    return Snapshot(NOW, queries, **more)


# ---- made-up ones: hypothesis picks a seed for each query, so it can still leave queries out to find the smallest case


def _delay(rng: Random) -> DelayView:
    low, below, above = rng.choice([0, 20, 500]), rng.choice([0, 1, 80, 1_000]), rng.choice([0, 1, 150, 3_000])
    sd = rng.choice([0, 5, 50])
    return DelayView(
        rng.randint(1, 400), float(low + below), float(sd), float(sd + rng.choice([0, 40, 500])), low, low + below + above
    )


def _input(rng: Random, name: str) -> InputView:
    patience = rng.choice([0, 200, 500, 3_000])
    if rng.random() < 0.15:
        return InputView(name, patience)
    return InputView(
        name,
        patience,
        live=rng.random() < 0.8,
        idle=rng.random() < 0.15,
        frontier=EventMs(NOW - rng.choice([0, 50, 3_000, rng.randint(0, 20_000)])),
        rows_per_s=rng.choice([0.0, 10.0, 1_000.0, 100_000.0]),
        late_rows=rng.randint(0, 3),
        delay=_delay(rng) if rng.random() < 0.8 else None,
    )


def made_up(name: str, seed: int, grids: int = 2) -> QueryView:
    """Some query in some state that it may be in."""
    rng = Random(seed)
    inputs = tuple(_input(rng, f"{name}-{n}") for n in range(rng.choice([1, 1, 1, 2, 3])))
    spans = [rng.choice(PERIODS) for _ in range(rng.randint(1, grids))]
    deadlines = Deadlines(tuple(Grid(p, rng.choice([0, rng.randrange(p)])) for p in spans))
    granted = None if rng.random() < 0.1 else NOW - rng.choice([0, 1, 1_000, rng.randint(0, 10_000)])
    since = NOW - rng.randint(0, NOW - granted if granted is not None else 5_000)
    swept = 0 if rng.random() < 0.15 else deadlines.upto(NOW - rng.choice([0, 3_000, rng.randint(0, 20_000)]))
    announced = deadlines.after(swept or NOW - rng.randint(0, 5_000)) if rng.random() < 0.5 else swept
    ahead = rng.random() < 0.6
    if not ahead and announced > NOW - max(i.patience_ms for i in inputs):
        announced = swept = deadlines.upto(NOW - 10_000)
    return viewed(
        name,
        inputs,
        deadlines,
        waiting_since=WallMs(since) if granted is None or rng.random() < 0.75 else None,
        granted_at=None if granted is None else WallMs(granted),
        announced=EventMs(announced),
        swept=EventMs(swept),
        ahead=ahead,
        fixed_ms=rng.choice([1.0, 100.0, 300.0, 2_000.0]),
        per_row_ms=rng.choice([0.0, 0.001, 0.01, 0.5]),
        selectivity=rng.choice([0.0, 0.1, 0.5, 1.0]),
        pace_ms=rng.choice([0, 1_000]),
    )


def snapshots(grids: int = 2, pressed: bool | None = None) -> st.SearchStrategy[Snapshot]:
    def build(seeds: list[int], slots: int, short: bool) -> Snapshot:
        memory = MemoryView(0.9, WallMs(NOW - 500)) if short else MemoryView(0.3)
        # Names that do not follow the order in the list, so that a tie broken by position shows.
        queries = [made_up("dbfaehcg"[n], seed, grids) for n, seed in enumerate(seeds)]
        return Snapshot(NOW, tuple(queries), slots, memory)

    seeds = st.lists(st.integers(0, 1 << 30), max_size=8)
    return st.builds(build, seeds, st.integers(1, 4), st.booleans() if pressed is None else st.just(pressed))


def shifted(snap: Snapshot, ms: int) -> Snapshot:
    """The same world at another time; what is not known stays so."""

    def later(at: Any) -> Any:
        return None if at is None else at + ms if at else at

    queries = [
        again(
            q,
            inputs=tuple(replace(i, frontier=later(i.frontier)) for i in q.inputs),
            waiting_since=later(q.waiting_since),
            granted_at=later(q.granted_at),
            announced=later(q.announced),
            swept=later(q.swept),
        )
        for q in snap.queries
    ]
    memory = replace(snap.memory, pressed_since=later(snap.memory.pressed_since))
    return Snapshot(WallMs(snap.now + ms), tuple(queries), snap.slots, memory)
