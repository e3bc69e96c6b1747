"""`headway sim`: the same policies in virtual time, at the papers' scale and beyond."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import HeadwayError, SettingError
from headway_lab.experiments.aion import sim_command as sim_aion
from headway_lab.experiments.fleet import command as sim_fleet
from headway_lab.experiments.moves import sim_command as sim_moves
from headway_lab.experiments.patience import command as sim_patience
from headway_lab.experiments.rings import command as sim_rings
from headway_lab.experiments.scripts import sim_command as sim_scripts
from headway_lab.experiments.simulator import calibrate as calibrating
from headway_lab.experiments.simulator import figures, ladder, paper
from headway_lab.experiments.slack import command as sim_slack
from headway_lab.experiments.wan import command as sim_wan
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record, newest
from headway_lab.harness.options import LedgerOption, PoliciesOption, help_without_a_command
from headway_lab.harness.report import figures_page, spread_words
from headway_lab.harness.setting import policies_named
from headway_lab.harness.suite import Spread

app = typer.Typer(help="Run experiments in virtual time: no Spark, no waiting.")
ALL_POLICIES = ",".join(paper.ORDERS)
SeedsOption = Annotated[int, typer.Option(help="How many seeds.")]
JobsOption = Annotated[int | None, typer.Option(help="Runs at once; as many as there are cores unless told.")]
app.command("slack")(sim_slack.slack)
app.command("patience")(sim_patience.patience)
app.command("aion")(sim_aion.aion)
app.command("scripts")(sim_scripts.scripts)
app.command("fleet")(sim_fleet.fleet)
app.command("rings")(sim_rings.rings)
app.command("moves")(sim_moves.moves)
app.command("wan")(sim_wan.wan)


app.callback(invoke_without_command=True)(help_without_a_command)


@app.command("paper")
def paper_(
    experiments: Annotated[str, typer.Option(help="Which, with commas between them.")] = ",".join(paper.EXPERIMENTS),
    orders: PoliciesOption = ALL_POLICIES,
    seeds: SeedsOption = 10,
    minutes: Annotated[int, typer.Option(help="Simulated minutes of each run; the first is not counted.")] = 20,
    jobs: JobsOption = None,
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-sim.html"),
    ledger: LedgerOption = LEDGER,
) -> None:
    """The figures of the Klink paper, in an engine like the paper's."""
    arguments.at_least("seeds", seeds, 1)
    arguments.at_least("minutes", minutes, 2)
    arguments.new_file("out", out)
    names, policies = (
        _known("experiments", experiments, paper.EXPERIMENTS),
        _known("orders", orders, tuple(paper.ORDERS | paper.ALONE)),
    )
    book, cases = Ledger(ledger), [case for name in names for case in paper.cases(name, minutes)]
    done = {(r["policy"], str(r["setting"]), r["seed"]) for r in book.of_this_commit(paper.EXPERIMENT)}
    tasks = [
        (case, order, seed)
        for seed in range(1, seeds + 1)
        for case in dict.fromkeys(cases)
        for order in policies
        if (order, str(asdict(case)), seed) not in done
    ]
    with screen.ProgressBar([case.minutes * (0.2 + case.queries / 160) for case, _, _ in tasks]) as bar:
        for (case, order, seed), found in paper.sweep(tasks, arguments.cores(jobs)):
            bar.begin(f"seed {seed}, {case.workload}, {case.queries} queries, {case.nodes} nodes, {order}")
            book.append(paper.EXPERIMENT, order, asdict(case), seed, found, kind="sim")
            bar.end()
    records = book.of_this_commit(paper.EXPERIMENT)
    for name in names:
        screen.out.print(
            _paper_table(name, [r for r in records if r["setting"] in [asdict(c) for c in paper.cases(name, minutes)]])
        )
    out.write_text(figures_page("Klink in virtual time", figures.paper(records)), "utf-8")
    screen.out.print(f"Figures: {out}", soft_wrap=True)


@app.command("ladder")
def ladder_(  # an argument for each option of the command
    queries: Annotated[str, typer.Option(help="Numbers of queries.")] = ",".join(map(str, ladder.QUERIES)),
    policies: PoliciesOption = "klink,response-ratio,streambox",
    seconds: Annotated[int, typer.Option(help="Simulated seconds.")] = 60,
    load: Annotated[str, typer.Option(help="Shares of the cores, with commas between them.")] = "0.7",
    unequal: Annotated[float, typer.Option(help="How much costs differ: standard deviation over mean.")] = 0.0,
    seeds: SeedsOption = 1,
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-ladder.html"),
    ledger: LedgerOption = LEDGER,
) -> None:
    """Ten to ten thousand queries in the micro-batch engine, beside the best that any schedule could do."""
    arguments.at_least("seconds", seconds, 1)
    arguments.at_least("seeds", seeds, 1)
    arguments.at_least("unequal", unequal, 0)
    arguments.new_file("out", out)
    loads = [arguments.share("load", part) for part in load.split(",")]
    names, book = policies_named(policies), Ledger(ledger)
    sizes = arguments.wholes("queries", queries)
    rungs = [ladder.Rung(n, load=share, seconds=seconds, unequal=unequal) for share in loads for n in sizes]
    made = Table(title=f"Micro-batches in virtual time; costs differ by {unequal:.0%}", title_justify="left")
    for head in (
        "queries",
        "load",
        "policy",
        "mean ms",
        "p99",
        "least possible mean",
        "batches a window",
        "us a decision",
        "MB",
        "took s",
    ):
        made.add_column(head, justify="left" if head == "policy" else "right")
    with screen.ProgressBar([float(r.queries) for r in rungs for _ in names]) as bar:
        for rung in rungs:
            for name in names:
                bar.begin(f"{rung.queries} queries, load {rung.load:.0%}, {name}")
                found: list[dict[str, Any]] = []
                for seed in range(1, seeds + 1):
                    found.append(ladder.climb(rung, name, seed))
                    book.append(ladder.EXPERIMENT, name, asdict(rung), seed, found[-1], kind="sim")
                bar.end()
                made.add_row(f"{rung.queries:,}", f"{rung.load:.0%}", name, *_rung_cells(found))
    screen.out.print(made)
    out.write_text(
        figures_page("From ten queries to ten thousand", figures.ladder(book.of_this_commit(ladder.EXPERIMENT))), "utf-8"
    )
    screen.out.print(f"Figures: {out}", soft_wrap=True)


@app.command("calibrate")
def calibrate_(
    ledger: LedgerOption = LEDGER,
    out: Annotated[Path, typer.Option(help="The page with the figure.")] = Path("headway-calibration.html"),
) -> None:
    """Fit the micro-batch model to live runs in the ledger, and show its error on settings that it has not seen."""
    arguments.new_file("out", out)
    book = Ledger(ledger)
    live = [
        r
        for r in newest(book.records())
        if r["experiment"] == "klink" and r["kind"] == "live" and not r["setting"].get("unequal")
    ]
    commits = [r["commit"] for r in live if (r["setting"]["queries"], r["setting"]["rate"]) not in calibrating.FITTED]
    if not commits:
        raise HeadwayError("ledger: expected live runs of other settings than those fitted; see docs/simulator.md")
    records = [r for r in live if r["commit"] == commits[-1] and r["policy"] in calibrating.POLICIES]
    machine = calibrating.fit(records)
    points = calibrating.judge(machine, records)
    batch = f"a batch: {machine.fixed_ms:.0f} ms of a core and {machine.per_row_ms * 1000:.1f} us a row"
    beside = f"{machine.wait_ms:.0f} ms on no core, spread {machine.spread:.0%}, {machine.cores:.2f} cores"
    made = Table(title=f"{batch}, {beside}", title_justify="left")
    for head in ("policy", "queries", "rate", "", "mean live", "predicted", "error", "p99 live", "predicted", "error"):
        made.add_column(head, justify="left" if head in ("policy", "") else "right")
    for p in points:
        cells = [
            x for f in ("mean_ms", "p99_ms") for x in (f"{p.live[f]:,.0f}", f"{p.predicted[f]:,.0f}", f"{p.error(f):+.0%}")
        ]
        made.add_row(p.policy, str(p.queries), str(p.rate), "fitted" if p.fitted else "held back", *cells)
    screen.out.print(made)
    error, tail = calibrating.mean_error(points), calibrating.mean_error(points, "p99_ms")
    screen.out.print(f"Mean error on settings held back: mean {error:.1%}, p99 {tail:.1%}", highlight=False)
    held = sum(not p.fitted for p in points)
    book.append(
        calibrating.EXPERIMENT, "klink", asdict(machine) | {"live": commits[-1]}, 1,
        {"error": round(error, 4), "error_p99": round(tail, 4), "held_back": held, "points": [asdict(p) for p in points]},
        kind="sim",
    )  # fmt: skip
    out.write_text(figures_page("Predicted against live", [figures.calibration(points)]), "utf-8")
    screen.out.print(f"Figure: {out}", soft_wrap=True)


def _known(key: str, text: str, known: Sequence[str] | dict[str, Any]) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names or not set(names) <= set(known):
        raise SettingError(key, text, f"some of {', '.join(known)}")
    return names


def _rung_cells(found: list[dict[str, Any]]) -> list[str]:
    def of(field: str, digits: int = 0) -> str:
        return spread_words(Spread.of([f[field] for f in found]), digits)

    each = Spread.of([f["batches"] / max(1, f["windows"]) for f in found])
    return [
        of("mean_ms"),
        of("p99_ms"),
        of("least_ms"),
        spread_words(each, 2),
        of("decide_us"),
        of("memory_mb"),
        of("took_s", 1),
    ]


def _paper_table(name: str, records: list[Record]) -> Table:
    made = Table(title=f"{name}: mean output latency, s (95 % of the mean)", title_justify="left")
    points = list(dict.fromkeys(figures.point(r) for r in records))
    made.add_column("policy")
    for p in points:
        made.add_column(p, justify="right")
    for order in paper.ORDERS:
        cells = []
        for p in points:
            values = [r["mean_ms"] / 1000 for r in records if r["policy"] == order and figures.point(r) == p]
            cells.append(figures.interval_words(values))
        if any(cells):
            made.add_row(order, *cells, style="bold" if order == "klink" else None)
    return made
