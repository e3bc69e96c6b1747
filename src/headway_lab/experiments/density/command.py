"""`headway bench density`: the most queries that each policy holds at a given tail latency (claim C3)."""

from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.density.run import EXPERIMENT, POLICIES, DensityLimits, Probe, search
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import (
    CoresOption,
    LedgerOption,
    MemoryOption,
    PoliciesOption,
    RateOption,
    SettleOption,
    WarmOption,
    at_least,
)
from headway_lab.harness.setting import Setting, policies_named
from headway_lab.harness.suite import Spread, base_setting, warm

ALL_POLICIES = ",".join(POLICIES)
PROBES, PROBE_S = 6.0, 50.0  # how many a search takes, and how long one does, on a warm two-core machine


def density(  # an argument for each option of the command
    policies: PoliciesOption = ALL_POLICIES,
    p99: Annotated[int, typer.Option(help="The 99th percentile that must be held, in ms.")] = 2_000,
    rate: RateOption = 200,
    most: Annotated[int, typer.Option(help="Try no more queries than this.")] = 256,
    seconds: Annotated[int, typer.Option(help="Measured seconds per number of queries.")] = 20,
    settle: SettleOption = 10,
    seeds: Annotated[str, typer.Option(help="Seeds; each is searched anew.")] = "1,2,3",
    warm_s: WarmOption = 360,
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Search for the most queries held, policy by policy, in one warm JVM."""
    at_least(1, seconds=seconds, p99=p99, rate=rate, most=most)
    at_least(0, settle=settle, warm=warm_s)
    base = base_setting(Setting.delay, None, seconds, settle, rate)
    names, numbers, book = policies_named(policies), arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    found: dict[str, list[int]] = {name: [] for name in names}
    limits = DensityLimits(p99, most)
    with screen.spark_session("headway-bench", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark:
        bench = Bench(spark)
        try:
            screen.warm_up(lambda say, show_cost: warm(bench, warm_s, say, show_cost), warm_s)
            with screen.ProgressBar([PROBES * PROBE_S] * len(names) * len(numbers)) as bar:
                for seed in numbers:
                    for name in names:
                        bar.begin(f"seed {seed}, {name}")
                        said = search(bench, name, base, seed, limits, bar.say, partial(_print_probe, name))
                        book.append(EXPERIMENT, name, {**asdict(base), "queries": 0, "limit_ms": p99}, seed, said)
                        found[name].append(said["held"])
                        bar.end()
        finally:
            bench.close()
    screen.out.print(table(found, p99))


def _print_probe(name: str, probe: Probe) -> None:
    verdict = "held" if probe.held else "not held"
    screen.err.print(f"{name}: {probe.queries} queries, p99 {probe.p99_ms:,.0f} ms: {verdict}", highlight=False)


def table(found: dict[str, list[int]], p99: int) -> Table:
    """One row per policy: the median of the seeds, and how many times as many as the others."""
    made = Table(title=f"Most queries with p99 <= {p99:,} ms: median of seeds (least..greatest)", title_justify="left")
    for head in ("policy", "queries", *(f"x {name}" for name in found)):
        made.add_column(head, justify="left" if head == "policy" else "right")
    middles = {name: Spread.of(numbers) for name, numbers in found.items()}
    for name, spread in middles.items():
        ratios = [f"{spread.middle / other.middle:.1f}" if other.middle else "-" for other in middles.values()]
        made.add_row(name, f"{spread.middle:.0f} ({spread.low:.0f}..{spread.high:.0f})", *ratios)
    return made
