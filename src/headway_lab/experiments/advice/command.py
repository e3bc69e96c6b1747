"""`headway bench advice`: does what it foretells come true (D1, D2)? `bench advice-seeded`: what is found (D3, D4)?"""

from dataclasses import asdict, replace
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import HeadwayError
from headway_lab.experiments.advice import seeded as seeded_jobs
from headway_lab.experiments.advice.borderline import near
from headway_lab.experiments.advice.run import EXPERIMENT, WATCHED, AdviceOutcome, advised
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption, SettleOption, WarmOption, at_least
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import base_setting, warm

LOADS = "10x1000,20x200"
START_S = 30.0  # until queries are started and have caught up, twice


def advice(  # an argument for each option of the command
    points: Annotated[str, typer.Option(help="Loads, as QUERIESxRATE with commas.")] = LOADS,
    seconds: Annotated[int, typer.Option(help="Seconds for which each is watched and measured.")] = 40,
    settle: SettleOption = 5,
    seeds: Annotated[str, typer.Option(help="Seeds; each is a job of its own.")] = "1,2,3",
    warm_s: WarmOption = 200,
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Advise on stock Spark from its reports, then run the same queries under Klink, and compare."""
    at_least(1, seconds=seconds)
    at_least(0, settle=settle, warm=warm_s)
    base, book = base_setting(Setting.delay, None, seconds, settle), Ledger(ledger)
    loads = [tuple(arguments.wholes("points", text.replace("x", ","))) for text in points.split(",")]
    cases = [
        (replace(base, queries=q, rate=r), seed) for seed in arguments.wholes("seeds", seeds, least=0) for q, r in loads
    ]
    found: list[tuple[Setting, AdviceOutcome]] = []
    with screen.spark_session("headway-bench", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark:
        bench = Bench(spark)
        try:
            screen.warm_up(lambda say, show_cost: warm(bench, warm_s, say, show_cost), warm_s)
            with screen.ProgressBar([2.0 * (seconds + settle + START_S)] * len(cases)) as bar:
                for setting, seed in cases:
                    bar.begin(f"seed {seed}, {setting.queries} x {setting.rate}/s")
                    if (outcome := advised(bench, setting, seed, bar.say)) is None:
                        raise HeadwayError(f"too little was seen in {seconds} s to advise: watch for longer with --seconds")
                    book.append(EXPERIMENT, WATCHED, asdict(setting), seed, outcome.record())
                    found.append((setting, outcome))
                    bar.end()
        finally:
            bench.close()
    screen.out.print(_table(found))


def seeded(
    seeds: Annotated[str, typer.Option(help="Seeds; each draws jobs of its own.")] = "1,2,3",
    ledger: LedgerOption = LEDGER,
) -> None:
    """Look at reports that were made bad on purpose, in every way that is looked for, and at healthy ones."""
    book = Ledger(ledger)
    for seed in arguments.wholes("seeds", seeds, least=0):
        found = seeded_jobs.judged(seed) | near(seed, seeded_jobs.EACH)
        book.append(seeded_jobs.EXPERIMENT, "checks", {"each": seeded_jobs.EACH}, seed, found)
        least = f"{found['found_worst_kind']:.0%} of the kind that is found least"
        said = f"seed {seed}: {found['found']:.1%} of {found['bad_jobs']} faults found, {least}"
        alarms = f"{found['false_alarms']:.1%} of {found['healthy_jobs']} healthy jobs complained of"
        missed = "".join(f"; {kind} missed in {share:.0%}" for kind, share in found["missed"].items())
        border = f"near the bound {found['found_near']:.0%} and {found['alarms_near']:.0%} of the worst kind"
        screen.out.print(f"{said}; {alarms}{missed}; {border}", highlight=False, soft_wrap=True)


def _table(found: list[tuple[Setting, AdviceOutcome]]) -> Table:
    made = Table(title="Mean wait of a window, ms", title_justify="left")
    for head in ("load", "stock, seen", "simulated", "Klink, foretold", "came", "off by"):
        made.add_column(head, justify="left" if head == "load" else "right")
    for setting, one in found:
        waits = (one.seen_ms, one.again_ms, one.foretold_ms, one.came_ms)
        made.add_row(f"{setting.queries} x {setting.rate}/s", *(f"{ms:,.0f}" for ms in waits), f"{one.error:.0%}")
    return made
