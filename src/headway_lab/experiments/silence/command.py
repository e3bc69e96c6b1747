"""`headway bench silence`: a partition stops and comes back with what it owes; nothing is lost unseen."""

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway.kafka import broker
from headway_lab.experiments.silence.run import AFTER_S, BEFORE_S, EXPERIMENT, LEAD_S, SilenceOutcome, SilencePlan
from headway_lab.experiments.silence.run import silence as stop_one
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import CoresOption, LedgerOption, MemoryOption


def silence(
    seconds: Annotated[int, typer.Option(help="How long the partition is silent.")] = 60,
    idle_after: Annotated[
        str, typer.Option(help="Seconds after which it holds no window back, with commas between them.")
    ] = "10,90",
    rate: Annotated[int, typer.Option(help="Rows per second, of both partitions.")] = 400,
    seeds: Annotated[str, typer.Option(help="Seeds.")] = "1",
    ledger: LedgerOption = LEDGER,
    memory: MemoryOption = "2g",
    cores: CoresOption = None,
) -> None:
    """Two partitions of a topic, one of which falls silent: how long windows wait for it, and what comes too late."""
    arguments.at_least("seconds", seconds, 1)
    arguments.at_least("rate", rate, 2)
    idles, numbers = arguments.wholes("idle_after", idle_after), arguments.wholes("seeds", seeds, least=0)
    cases = [(idle, seed) for seed in numbers for idle in idles]
    found: list[tuple[int, int, SilenceOutcome]] = []
    with (
        screen.spark_session(
            "headway-silence", cores=arguments.cores(cores), memory=arguments.memory(memory), kafka=True
        ) as spark,
        tempfile.TemporaryDirectory(prefix="headway-silence-") as folder,
    ):
        server = broker.start()
        try:
            with screen.ProgressBar([float(LEAD_S + BEFORE_S + seconds + AFTER_S)] * len(cases)) as bar:
                for idle, seed in cases:
                    bar.begin(f"seed {seed}, silent for {seconds} s, idle after {idle} s")
                    plan = SilencePlan(seconds, idle, rate, seed)
                    outcome = stop_one(spark, server.address, plan, Path(folder), bar.say)
                    setting = {"stop_s": seconds, "idle_after_s": idle, "rate": rate}
                    figures = asdict(outcome) | {"unseen": max(0, outcome.missing - outcome.late)}
                    Ledger(ledger).append(EXPERIMENT, "klink", setting, seed, figures)
                    found.append((idle, seed, outcome))
                    bar.end()
        finally:
            server.stop()
    screen.out.print(_table(found))


def _table(found: list[tuple[int, int, SilenceOutcome]]) -> Table:
    made = Table(box=box.SIMPLE_HEAD)
    for head in (
        "idle after s",
        "seed",
        "windows",
        "median wait ms",
        "longest",
        "rows",
        "in no result",
        "counted late",
        "twice",
    ):
        made.add_column(head, justify="right")
    for idle, seed, o in found:
        cells = (f"{o.median_ms:,.0f}", f"{o.worst_ms:,.0f}", f"{o.rows:,}", f"{o.missing:,}", f"{o.late:,}", str(o.twice))
        made.add_row(str(idle), str(seed), str(o.windows), *cells)
    return made
