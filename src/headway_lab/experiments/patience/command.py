"""`headway sim patience`: real streams under every kind of patience, how long windows waited and what came too late."""

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from headway.cli import arguments
from headway.model.patience import PatiencePolicy
from headway.policy import patience as kinds
from headway_lab.experiments.patience import figures as patience_figures
from headway_lab.experiments.patience.run import Waited, replay
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.report import figures_page
from headway_lab.workloads.feed import Feed
from headway_lab.workloads.phones import SESSIONS, phones

EXPERIMENT = "patience"
POLICIES: dict[str, PatiencePolicy] = {
    "fixed": kinds.Fixed("500 ms"),
    "max-delay": kinds.MaxDelay(),
    "quantile": kinds.Quantile(0.99),
    "slack-gate": kinds.SlackGate("500 ms"),
}
ADAPTS_IN = 10  # windows


def patience(
    windows: Annotated[str, typer.Option(help="Lengths of windows in ms, with commas between them.")] = "1000,3000",
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-patience.html"),
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
) -> None:
    """Phones on a mobile network, with their own delays: what each policy waits, and what it loses."""
    lengths = arguments.wholes("windows", windows)
    arguments.new_file("out", out)
    streams = [phones(which) for which in SESSIONS]
    streams.append(doubled(streams[0]))
    book, found = Ledger(ledger), {}
    with screen.ProgressBar([1.0 for _ in streams for _ in lengths for _ in POLICIES]) as bar:
        for feed in streams:
            for length in lengths:
                for name, policy in POLICIES.items():
                    bar.begin(f"{feed.name}, windows of {length} ms, {name}")
                    waited = replay(feed, policy, length)
                    found[feed.name, length, name] = waited
                    told = {"stream": feed.name, "window_ms": length}
                    book.append(EXPERIMENT, name, told, 0, figures(waited), kind="sim")
                    bar.end()
    screen.out.print(_table(found))
    out.write_text(figures_page("Patience, on real streams", patience_figures.patience(found)), "utf-8")
    screen.out.print(f"Figures: {out}", soft_wrap=True)


def doubled(feed: Feed) -> Feed:
    """The same with every delay twice as long from its middle on."""
    delay = feed.arrival_ms - feed.event_ms
    late = feed.event_ms > np.median(feed.event_ms)
    return Feed.of(
        f"{feed.name}, doubled", feed.event_ms, feed.event_ms + np.where(late, 2 * delay, delay), feed.body, feed.key
    )


def figures(waited: Waited) -> dict[str, float]:
    after = len(waited.ends) // 2 + ADAPTS_IN
    rows_after = waited.rows * (len(waited.ends) - after) / max(1, len(waited.ends))
    return {
        "late_share": round(waited.late_share, 5),
        "late_share_adapted": round(float(waited.late_by_window[after:].sum()) / max(1.0, rows_after), 5),
        "median_ms": round(waited.median_ms, 1),
        "p99_ms": round(float(np.percentile(waited.waits_ms, 99)), 1),
        "late_rows": waited.late,
        "rows": waited.rows,
        "windows": len(waited.ends),
    }


def _table(found: dict[tuple[str, int, str], Waited]) -> Table:
    made = Table(title="How long windows waited for stragglers, and what came later still", title_justify="left")
    for head in ("stream", "window ms", "policy", "median wait ms", "p99", "late rows", "late share"):
        made.add_column(head, justify="left" if head in ("stream", "policy") else "right")
    for (stream, length, name), waited in found.items():
        told = figures(waited)
        cells = (f"{told['median_ms']:,.0f}", f"{told['p99_ms']:,.0f}", f"{waited.late}", f"{waited.late_share:.2%}")
        made.add_row(stream, str(length), name, *cells)
    return made
