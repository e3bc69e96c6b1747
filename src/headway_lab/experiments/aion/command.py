"""`headway bench aion`: approximate answers live, beside exact ones: how soon, how near, how often within their bounds."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.aion.covered import wilson
from headway_lab.experiments.aion.run import (
    EXPERIMENT,
    LEAD_S,
    POLICIES,
    SETTLE_S,
    TRIPS,
    LiveCase,
    Ran,
    measure,
    policy_named,
    turns,
)
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.workloads.approximate import SETTINGS, WORKLOADS
from headway_lab.workloads.approximate.taxi import real_trips

AROUND_S = 6  # to start and stop a query, and for its last windows
WORST = 5  # keys that are shown one by one


def aion(
    workloads: Annotated[str, typer.Option(help="Of ysb, taxi, kmeans and boroughs.")] = "ysb,taxi,kmeans",
    settings: Annotated[str, typer.Option(help="Of CC, GG, EC and EG: delay and gaps constant, gamma, exponential.")] = "EG",
    rates: Annotated[str, typer.Option(help="Events per second.")] = "5000",
    windows: Annotated[str, typer.Option(help="Seconds that windows are long; multiples of three.")] = "3",
    policies: Annotated[
        str, typer.Option(help="Sampling policies; also plain, without our doing, and rate-N, N % of all rows.")
    ] = ",".join(POLICIES),
    seconds: Annotated[int, typer.Option(help="Measured seconds per policy and seed.")] = 60,
    warm: Annotated[int, typer.Option(help="Seconds of each workload before that, not measured: a young JVM is slow.")] = 60,
    seeds: Annotated[str, typer.Option(help="Seeds; for each one, all policies take their turn.")] = "1,2,3",
    coverage: Annotated[bool, typer.Option("--coverage", help="Show how often bounds hold, workload by workload.")] = False,
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
    memory: Annotated[str, typer.Option(help="Memory of the driver.")] = "4g",
    cores: Annotated[int | None, typer.Option(help="Cores for Spark; all of them unless told.")] = None,
) -> None:
    """Ask the same of the same streams under several sampling policies, in turns, in one warm JVM."""
    cases = _cases(workloads, settings, rates, windows)
    names, numbers = _names("policies", policies, None), arguments.wholes("seeds", seeds, least=0)
    for name in names:
        policy_named(name)
    arguments.at_least("seconds", seconds, max(case.window_s for case in cases))
    arguments.at_least("warm", warm, 0)
    book, most = Ledger(ledger), max(case.rate * case.window_s for case in cases)
    given_cores, given_memory = arguments.cores(cores), arguments.memory(memory)
    book.records()  # a file that is no ledger is told at once, not after an hour
    told_trips(cases)
    with (
        screen.spark_session("headway-aion", cores=given_cores, memory=given_memory, rows_per_batch=most) as spark,
        tempfile.TemporaryDirectory(prefix="headway-aion-", ignore_cleanup_errors=True) as folder,
    ):
        _warm_up(spark, cases, names, warm, Path(folder))
        for case in cases:
            ran = _measured(spark, case, list(turns(names, numbers)), seconds, Path(folder), book)
            screen.out.print(table(case, ran))
            if coverage:
                screen.out.print(coverage_table(case, ran))


def _cases(workloads: str, settings: str, rates: str, windows: str) -> list[LiveCase]:
    lengths = arguments.wholes("windows", windows)
    for length in lengths:
        if length % 3:
            raise SettingError("windows", length, "multiples of 3 s: sub-streams of 600 ms must fill them")
    return [
        LiveCase(workload, setting, rate, length)
        for workload in _names("workloads", workloads, WORKLOADS)
        for setting in _names("settings", settings, SETTINGS)
        for rate in arguments.wholes("rates", rates)
        for length in lengths
    ]


def _names(key: str, text: str, known: Any) -> list[str]:
    """Each once, and each one that is known."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names or len(set(names)) < len(names) or (known is not None and not set(names) <= set(known)):
        raise SettingError(key, text, f"some of {', '.join(known)}, each once" if known else "one or more, each once")
    return names


def told_trips(cases: Sequence[LiveCase]) -> None:
    if any(case.workload in TRIPS for case in cases) and real_trips() is None:
        screen.err.print("no trips in HEADWAY_DATA: distances are made, with the same mean and spread", highlight=False)


def _warm_up(spark: Any, cases: Sequence[LiveCase], policies: Sequence[str], seconds: int, folder: Path) -> None:
    """Every workload under every policy: what is compiled for one is not yet for the other."""
    first = list({case.workload: case for case in reversed(cases)}.values())[::-1]
    each = seconds // len(policies)
    if not each:
        return
    with screen.ProgressBar([float(LEAD_S + SETTLE_S + each + AROUND_S)] * len(first) * len(policies)) as bar:
        for case in first:
            for policy in policies:
                bar.begin(f"warm-up, not measured: {case.workload}, {policy}")
                _one(spark, case, policy, 0, max(each, case.window_s), folder, bar)
                bar.end()


def _measured(
    spark: Any, case: LiveCase, steps: Sequence[tuple[int, str]], seconds: int, folder: Path, book: Ledger
) -> dict[str, list[Ran]]:
    """All policies on one case; every result is in the ledger before the next one begins."""
    ran: dict[str, list[Ran]] = {}
    with screen.ProgressBar([float(LEAD_S + SETTLE_S + seconds + AROUND_S)] * len(steps)) as bar:
        for number, (seed, policy) in enumerate(steps, start=1):
            bar.begin(f"{number}/{len(steps)} {case}, seed {seed}, {policy}")
            done = _one(spark, case, policy, seed, seconds, folder, bar)
            book.append(EXPERIMENT, policy, case.told(), seed, done.figures())
            ran.setdefault(policy, []).append(done)
            bar.end()
    return ran


def _one(spark: Any, case: LiveCase, policy: str, seed: int, seconds: int, folder: Path, bar: screen.ProgressBar) -> Ran:
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as place:
        return measure(spark, case, policy, seed, seconds, Path(place), bar.say)


def table(case: LiveCase, ran: dict[str, list[Ran]]) -> Table:
    """The median over seeds; errors are the worst of all."""
    made = Table(box=box.SIMPLE_HEAD, title=f"{case}: median of seeds", title_justify="left")
    made.add_column("policy", no_wrap=True)
    heads = ("mean ms", "p95", "p99", "rows taken", "windows", "within 5 %", "bound holds", "error", "largest", "late rows",
             "CPU us/row", "overhead")  # fmt: skip
    for head in heads:
        made.add_column(head, justify="right", no_wrap=True)
    for policy, runs in ran.items():
        f = [run.figures() for run in runs]
        mid = {name: median(one[name] for one in f) for name in f[0]}
        made.add_row(
            policy, *(f"{mid[name]:,.0f}" for name in ("mean_ms", "p95_ms", "p99_ms")), f"{mid['rate']:.1%}",
            f"{sum(one['windows'] for one in f)}", f"{mid['within']:.1%}", f"{mid['covered']:.1%}",
            f"{mid['error_mean']:.2%}", f"{max(one['error_max'] for one in f):.2%}", f"{mid['late_share']:.1%}",
            f"{mid['cpu_us_row']:.1f}", f"{mid['overhead_share']:.2%}",
        )  # fmt: skip
    return made


def coverage_table(case: LiveCase, ran: dict[str, list[Ran]]) -> Table:
    """All seeds together, with Wilson's interval: windows, all keys, and the keys whose bounds held least often."""
    made = Table(box=box.SIMPLE_HEAD, title=f"{case}: how often, in 95 % between", title_justify="left")
    for head in ("policy", "of", "answers", "within 5 %", "bound holds", "missing"):
        made.add_column(head, justify="left" if head in ("policy", "of") else "right", no_wrap=True)
    for policy, runs in ran.items():
        keys, parts = runs[0].keys, {}
        if runs[0].adds_up or keys == [""]:
            parts["windows"] = [run.windows for run in runs]
        if keys != [""]:
            parts["all keys"] = [run.results for run in runs]
            each = {f"key {key}": [run.of_key(key) for run in runs] for key in keys}
            parts |= dict(sorted(each.items(), key=lambda item: sum(j.covered.hits - j.covered.n for j in item[1]))[:WORST])
        for name, judged in parts.items():
            n = sum(j.within.n for j in judged)
            within, covered = (wilson(sum(getattr(j, of).hits for j in judged), n) for of in ("within", "covered"))
            made.add_row(policy, name, f"{n:,}", str(within), str(covered), f"{sum(j.missing for j in judged):,}")
            policy = ""
    return made
