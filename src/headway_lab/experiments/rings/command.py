"""`headway sim rings`: forecasts of arrival rates against what came, and what a round of placement costs."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from headway.cli import arguments
from headway.policy.placement import PredictionRings
from headway_lab.experiments.rings import figures as rings_figures
from headway_lab.experiments.rings import rounds
from headway_lab.experiments.rings.rivals import RIVALS
from headway_lab.experiments.rings.run import HORIZONS, RINGS, SeriesErrors, Trial, measure, pattern, trial
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record
from headway_lab.harness.report import figures_page
from headway_lab.workloads.rates import all_series

EXPERIMENT, ROUND = "rings", "placement-round"
COMPUTATIONS, NODES = 100_000, 1_000


def rings(
    seeds: Annotated[int, typer.Option(help="How many seeds: each draws the moments of its forecasts.")] = 3,
    jobs: Annotated[int, typer.Option(help="Series at once.")] = 2,
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-rings.html"),
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
) -> None:
    """Forecast every series of `data/rates`, and one with a recurring pattern; then time a round of placement."""
    arguments.at_least("seeds", seeds, 1)
    arguments.at_least("jobs", jobs, 1)
    arguments.new_file("out", out)
    book, drawn = Ledger(ledger), list(range(1, seeds + 1))
    dense, sparse = all_series()
    trials = [*(trial(series) for series in dense), *(trial(pattern(seed)) for seed in drawn)]
    found: list[tuple[Trial, SeriesErrors]] = []
    with screen.ProgressBar([1.0] * len(trials)) as bar, ProcessPoolExecutor(jobs) as pool:
        for one, errors in zip(trials, pool.map(measure, trials, [drawn] * len(trials)), strict=True):
            bar.begin(f"{one.series.family}, {one.series.name}")
            found.append((one, errors))
            bar.end()
    for kind, of in _by_kind(found).items():
        _write(book, kind, of, drawn)
    for seed in drawn:
        told = {"computations": COMPUTATIONS, "nodes": NODES}
        book.append(ROUND, RINGS, told, seed, rounds.measure(PredictionRings(), COMPUTATIONS, NODES, seed), kind="sim")
    records = book.of_this_commit(EXPERIMENT)
    screen.out.print(_table(records))
    screen.out.print(f"{len(dense)} series; left out as mostly empty or too short: {', '.join(s.name for s in sparse)}")
    for r in book.of_this_commit(ROUND):
        cost = f"{r['round_s']:.2f} s, {r['requests']} requests, {r['moves']} moves"
        screen.out.print(f"a round of {COMPUTATIONS:,} computations on {NODES:,} nodes: {cost}")
    page = figures_page("Forecasts of arrival rates", rings_figures.rings(records, _pictured(trials)))
    out.write_text(page, "utf-8")
    screen.out.print(f"Figures: {out}", soft_wrap=True)


def _by_kind(found: Iterable[tuple[Trial, SeriesErrors]]) -> dict[str, list[SeriesErrors]]:
    """By kind of series; all real ones once more together."""
    kinds: dict[str, list[SeriesErrors]] = {}
    for one, errors in found:
        kinds.setdefault(one.series.family, []).append(errors)
        if one.series.family not in ("pattern", "NAB, synthetic"):
            kinds.setdefault("all", []).append(errors)
    return kinds


def _write(book: Ledger, kind: str, of: Sequence[SeriesErrors], seeds: Sequence[int]) -> None:
    for seed in seeds:
        for method in (RINGS, *RIVALS):
            table = np.stack([errors[method, seed] for errors in of])
            for column, horizon in enumerate(HORIZONS):
                told = {"data": kind, "horizon": horizon}
                measures = {
                    "error": round(float(table[:, column].mean()), 5),
                    "median": round(float(np.median(table[:, column])), 5),
                    "series": len(of),
                }
                book.append(EXPERIMENT, method, told, seed, measures, kind="sim")


def _pictured(trials: Sequence[Trial]) -> dict[str, tuple[Trial, int]]:
    """One series of some kinds, and the moment at which its last forecast could be made."""
    wanted = {"recurring 1": "a recurring pattern", "en": "tweets in English", "enwiki": "page views of a wiki"}
    by_name = {one.series.name: one for one in trials}
    shown = {title: by_name[name] for name, title in wanted.items() if name in by_name}
    return {title: (one, len(one.values) - one.ahead) for title, one in shown.items()}


def _table(records: Sequence[Record]) -> Table:
    made = Table(title="Error, % of the mean rate: mean over series (median series)", title_justify="left")
    for head in ("series", "ahead", RINGS, *RIVALS):
        made.add_column(head, justify="left" if head in ("series", "ahead") else "right")
    means, medians = rings_figures.averages(records, "error"), rings_figures.averages(records, "median")
    for kind in dict.fromkeys(r["setting"]["data"] for r in records):
        for horizon in HORIZONS:
            keys = [(kind, horizon, method) for method in (RINGS, *RIVALS)]
            cells = [f"{100 * means[key]:.1f} ({100 * medians[key]:.1f})" for key in keys]
            made.add_row(kind, horizon, *cells)
    return made
