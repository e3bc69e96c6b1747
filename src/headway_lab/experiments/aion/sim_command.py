"""`headway sim aion`: answers from samples, with and without waiting for stragglers."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.aion import figures as aion_figures
from headway_lab.experiments.aion import paper as aion_paper
from headway_lab.experiments.aion.streams import PAPER_SETTINGS, SETTINGS, WORKLOADS
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record
from headway_lab.harness.options import some_of
from headway_lab.harness.report import figures_page

HEADS = ("stream", "policy", "mean ms", "p95", "p99", "wait ms", "rate", "within 5 %", "covered", "mean error", "late rows")
SECONDS = {"ysb": 25e-6, "taxi": 25e-6, "kmeans": 200e-6}  # how long a run takes, for each event a second and each minute


def aion(
    workloads: Annotated[str, typer.Option(help="Which queries, with commas between them.")] = ",".join(WORKLOADS),
    settings: Annotated[
        str, typer.Option(help="Kinds of delay and gap: CC, GG, EC, EG, and EV, where delay grows with value.")
    ] = ",".join(PAPER_SETTINGS),
    rates: Annotated[str, typer.Option(help="Events a second, with commas between them.")] = "5000,25000",
    windows: Annotated[str, typer.Option(help="Seconds of a window, with commas between them.")] = "3,6",
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 10,
    minutes: Annotated[int, typer.Option(help="Simulated minutes of each run.")] = 2,
    claimed: Annotated[bool, typer.Option("--claimed", help="Only the streams that a claim names.")] = False,
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-aion.html"),
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
) -> None:
    """The figures of Aion's chapter: counts, means and k-means of windows, answered exactly and from samples."""
    arguments.at_least("seeds", seeds, 1)
    arguments.at_least("minutes", minutes, 1)
    arguments.new_file("out", out)
    cases = [
        aion_paper.AionCase(workload, setting, rate, window_s, minutes)
        for workload in some_of("workloads", workloads, WORKLOADS)
        for setting in some_of("settings", settings, tuple(SETTINGS))
        for rate in arguments.wholes("rates", rates, least=100)
        for window_s in arguments.wholes("windows", windows)
    ]
    if claimed:
        cases = [case for case in cases if case.claimed]
    book = Ledger(ledger)
    done = {(r["policy"], str(r["setting"]), r["seed"]) for r in book.of_this_commit(aion_paper.EXPERIMENT)}
    tasks = [t for t in aion_paper.tasks(cases, seeds) if (t[1], str(t[0].told()), t[2]) not in done]
    with screen.ProgressBar([SECONDS[case.workload] * case.rate * minutes for case, _, _ in tasks]) as bar:
        for task in tasks:
            case, policy, seed = task
            bar.begin(f"seed {seed}, {case.workload}, {case.setting}, {case.rate:,}/s, {case.window_s} s, {policy}")
            book.append(aion_paper.EXPERIMENT, policy, case.told(), seed, aion_paper.simulate(task), kind="sim")
            bar.end()
    records = book.of_this_commit(aion_paper.EXPERIMENT)
    asked = [case.told() for case in cases]
    screen.out.print(table([r for r in records if r["setting"] in asked]))
    out.write_text(figures_page("Answers with a bound, before the stragglers come", aion_figures.aion(records)), "utf-8")
    screen.out.print(f"Figures: {out}", soft_wrap=True)


def table(records: Sequence[Record]) -> Table:
    """One row per stream and policy; latencies are means over seeds, shares are of the windows of all seeds."""
    made = Table(title="Answers from samples: means over seeds", title_justify="left")
    for head in HEADS:
        made.add_column(head, justify="left" if head in ("stream", "policy") else "right", no_wrap=True)
    for told in {str(r["setting"]): r["setting"] for r in records}.values():
        stream = f"{told['workload']} {told['setting']} {told['rate']:,}/s {told['window_s']} s"
        for policy in aion_paper.POLICIES:
            of = [r for r in records if r["policy"] == policy and r["setting"] == told]
            if of:
                made.add_row(stream, policy, *cells(of), style="bold" if policy == "aion" else None)
                stream = ""
        made.add_section()
    return made


def cells(of: Sequence[Record]) -> list[str]:
    windows = sum(r["windows"] for r in of)
    latencies = [f"{fmean(r[field] for r in of):,.0f}" for field in ("mean_ms", "p95_ms", "p99_ms", "wait_ms")]
    shares = [sum(r[f] * r["windows"] for r in of) / windows for f in ("rate", "within", "covered", "error_mean")]
    return [*latencies, *(f"{share:.1%}" for share in shares), f"{fmean(r['late_share'] for r in of):.1%}"]
