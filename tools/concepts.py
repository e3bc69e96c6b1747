"""The pictures of `docs/concepts`, drawn anew from what the simulator and the policies themselves do.

python tools/concepts.py
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from svg import Axes, Drawing

from headway.estimate.tail import Tail
from headway.model.deadline import window
from headway.model.decision import Grant, OrderPolicy
from headway.model.message import BatchSeen
from headway.model.patience import PatienceView
from headway.policy.order import Klink, Stock
from headway.policy.patience import Quantile
from headway.sim.delays import Delay, Exponential, Uniform
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld

PICTURES = Path(__file__).parents[1] / "docs" / "pictures" / "concepts"
DELAYS = (50, 150, 300, 450)
PATIENCE = 500


def one_query(policy: OrderPolicy) -> VirtualWorld:
    """Windows of 3 s, rows up to 450 ms late, batches of 0.4 s and more."""
    world = VirtualWorld(policy, slots=1)
    rows = VirtualInput("clicks", patience_ms=PATIENCE, rows_per_s=1_000, delays_ms=DELAYS)
    world.add(VirtualQuery("orders", window("3 s"), rows, fixed_ms=400, per_row_ms=0.02))
    world.run(until_ms=13_000)
    return world


def progress() -> str:
    """Event time against the clock: rows, and how far two watermarks say that the stream has come."""
    drawing = Drawing(760, 470, "Event time against the clock, rows as dots, and two watermarks as steps below the diagonal")
    axes = Axes(drawing, (2_500, 10_500), (2_000, 10_500), 90, 40, 640, 350)
    axes.ticks([(s * 1_000, f"{s} s") for s in range(3, 11)], [(s * 1_000, f"{s} s") for s in (3, 6, 9)])
    drawing.words(90, 26, "event time; a rule is the end of a window", "soft")
    drawing.words(730, 26, "across: the clock", "soft", at="end")
    axes.line([(2_500, 2_500), (10_500, 10_500)], "soft", dashes="5 4")
    axes.words(9_400, 9_400, "now", "soft", at="end", up=10)
    for number, at in enumerate(range(2_500, 10_400, 110)):
        if (came := at + DELAYS[number % len(DELAYS)]) <= 10_500:
            axes.dot(came, at, "soft", 1.8)
    for policy, ink in ((Stock(), "b"), (Klink(), "a")):
        world = one_query(policy)
        axes.line(_steps(world.batches), ink, wide=2)
        for out in world.windows:
            if out.at <= 10_500:
                axes.dot(out.at, out.end, ink, 5)
    for left, ink, text in ((90, "soft", "a row, when it came"), (270, "b", "stock Spark"), (400, "a", "Headway")):
        drawing.dot(left + 4, 440, ink, 2 if ink == "soft" else 5)
        drawing.words(left + 16, 444, text)
    drawing.words(500, 444, "(a dot: the window is out)", "soft")
    return drawing.svg()


def _steps(batches: list[BatchSeen]) -> list[tuple[float, float]]:
    """The watermark by which each batch emits, from when it begins until another does."""
    known = [(float(batch.began), float(batch.watermark or 0)) for batch in batches if (batch.watermark or 0) >= 2_000]
    known = [(began, watermark) for began, watermark in known if began <= 10_500]
    points: list[tuple[float, float]] = []
    for (began, watermark), (after, _) in pairwise([*known, (10_500.0, 0.0)]):
        points += [(began, watermark), (after, watermark)]
    return points


def three_queries() -> VirtualWorld:
    """Three queries on one slot, with windows of 2, 3 and 4 s and batches that cost 150, 500 and 900 ms."""
    world = VirtualWorld(Klink(), slots=1)
    for name, pace, cost in (("alerts", "2 s", 150), ("orders", "3 s", 500), ("report", "4 s", 900)):
        world.add(VirtualQuery(name, window(pace), VirtualInput(patience_ms=200), fixed_ms=cost, per_row_ms=0))
    world.run(until_ms=26_000)
    return world


def slack() -> str:
    """How the slack of three queries falls, and whose batch runs."""
    world, since, until = three_queries(), 13_900, 19_900
    inks = {"alerts": "a", "orders": "b", "report": "c"}
    drawing = Drawing(
        760, 480, "Slack of three queries falls with time; at each decision the one with the least that is due runs"
    )
    axes = Axes(drawing, (since, until), (-1.5, 2.5), 90, 40, 640, 290)
    axes.ticks([(s * 1_000, f"{s} s") for s in range(14, 20)], [(s, f"{s} s") for s in range(-1, 3)])
    drawing.words(90, 26, "slack: how long its batch can still wait", "soft")
    axes.line([(since, 0), (until, 0)], "ink", wide=1)
    for name, ink in inks.items():
        for points in _falls(world, name, since, until):
            axes.line(points, ink, wide=2)
    for entry in world.notebook.entries:
        if isinstance(chosen := entry.decided, Grant) and since < entry.at < until:
            (query,) = (q for q in entry.seen.queries if q.name == chosen.query)
            left = (query.due - entry.at - query.cost_ms(entry.at)) / 1_000
            axes.dot(entry.at, left, inks[chosen.query], 5)
    for number, (name, ink) in enumerate(inks.items()):
        top = 375 + 26 * number
        drawing.words(82, top + 13, name, ink, at="end")
        for batch in world.batches:
            if batch.query == name and since < batch.began and batch.ended < until:
                left, right = axes.at(batch.began, 0)[0], axes.at(batch.ended, 0)[0]
                drawing.bar(left, top, right - left, 18, ink)
    drawing.words(730, 470, "a dot: this query is let through; a bar: its batch, on the only slot", "soft", at="end")
    return drawing.svg()


def _falls(world: VirtualWorld, name: str, since: int, until: int) -> list[list[tuple[float, float]]]:
    """Its slack from when it came to the gate until its batch began, once for each window."""
    lines: list[list[tuple[float, float]]] = []
    batches = [batch for batch in world.batches if batch.query == name]
    for before, batch in pairwise(batches):
        entry = next(e for e in world.notebook.entries if e.at == batch.began and getattr(e.decided, "query", "") == name)
        (query,) = (q for q in entry.seen.queries if q.name == name)
        zero = query.due - query.cost_ms(entry.at)
        start, end = max(before.ended, since), min(batch.began, until)
        if start < end:
            lines.append([(start, (zero - start) / 1_000), (end, (zero - end) / 1_000)])
    return lines


def one_batch() -> str:
    """The batches around the end of one window: stock Spark's, and Headway's."""
    drawing = Drawing(760, 330, "Batches before and after the end of a window: stock Spark needs two more, Headway one")
    since, until, end = 4_800, 8_300, 6_000
    axes = Axes(drawing, (since, until), (0, 1), 110, 40, 620, 220)
    axes.ticks([(s, f"{s / 1_000:g} s") for s in range(5_000, 8_400, 500)])
    for at, text, side in ((end, "the window ends", "end"), (end + PATIENCE, "patience is over", "start")):
        axes.line([(at, 0), (at, 1)], "ink", dashes="5 4")
        axes.words(at, 1, text, at=side, up=8)
    for policy, name, ink, top in ((Stock(), "stock Spark", "b", 75), (Klink(), "Headway", "a", 185)):
        world = one_query(policy)
        out = next(w for w in world.windows if w.end == end)
        drawing.words(100, top + 24, name, ink, at="end")
        for batch in world.batches:
            if batch.began < since or batch.began >= out.at:
                continue
            left, right = axes.at(batch.began, 0)[0], axes.at(batch.ended, 0)[0]
            drawing.bar(left, top, right - left - 2, 38, ink, full=batch.ended == out.at)
        told = _told(world.batches, end)
        drawing.words(axes.at(told.began, 0)[0] + 4, top + 24, "learns" if told.ended != out.at else "", ink, size=12)
        right = axes.at(out.at, 0)[0]
        drawing.words(right + 6, top + 24, f"out, {out.latency_ms:,} ms", ink)
    drawing.words(730, 315, "a box: a batch; a full one: the batch that emits the window", "soft", at="end")
    return drawing.svg()


def _told(batches: list[BatchSeen], end: int) -> BatchSeen:
    """The batch whose rows say that the window may be emitted; where that was announced, the one that emits it."""
    after = next(number for number, batch in enumerate(batches) if (batch.watermark or 0) >= end)
    by_rows = [b for b in batches[:after] if (b.inputs[0].newest or 0) - PATIENCE >= end]
    return by_rows[0] if by_rows else batches[after]


STREAMS: tuple[tuple[str, Delay, str], ...] = (
    ("any delay up to 500 ms", Uniform(0, 500), "a"),
    ("mostly quick, with a tail: exponential, mean 150 ms", Exponential(150), "b"),
)


def lateness(delay: Delay, patience_ms: float) -> float:
    """The share of rows that come later than that."""
    return float((delay.table() > patience_ms).mean())


def known(delay: Delay) -> Tail:
    """What a policy remembers of such a stream after a hundred thousand rows."""
    counted = Counter(delay.table().tolist())
    return Tail().add(tuple((float(ms), 100.0 * slices) for ms, slices in sorted(counted.items())))


def patience() -> str:
    """What each patience costs in late rows, and where the policies stand."""
    drawing = Drawing(760, 440, "The share of late rows falls with patience, and each policy picks a place on that curve")
    axes = Axes(drawing, (0, 1_200), (0, 0.5), 90, 40, 640, 330)
    axes.ticks([(ms, f"{ms} ms") for ms in range(0, 1_201, 200)], [(n / 10, f"{n * 10} %") for n in range(6)])
    drawing.words(90, 26, "rows that come too late", "soft")
    drawing.words(730, 418, "patience: how long after its end a window waits", "soft", at="end")
    for number, (name, delay, ink) in enumerate(STREAMS):
        axes.line([(ms, y) for ms in range(0, 1_201, 5) if (y := lateness(delay, ms)) <= 0.5], ink, wide=2)
        axes.words(420, 0.45 - 0.05 * number, name, ink)
        for share, up in ((0.9, (0.2, 0.26)[number]), (0.99, (0.14, 0.08)[number])):
            wait = Quantile(share).decide(PatienceView((known(delay),))).ms
            axes.dot(wait, lateness(delay, wait), ink, 5)
            axes.line([(wait, lateness(delay, wait)), (wait, up)], ink, wide=1)
            axes.words(wait + 6, up, f"Quantile({share:g}) waits {wait} ms", ink)
    return drawing.svg()


DRAWN: dict[str, Callable[[], str]] = {"progress": progress, "slack": slack, "one-batch": one_batch, "patience": patience}


def main() -> None:
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, draw in DRAWN.items():
        (PICTURES / f"{name}.svg").write_text(draw(), "utf-8")
        print(f"{name}.svg")


if __name__ == "__main__":
    main()
