"""`headway bench kafka`: Linear Road and taxi trips through a real broker, under policies that take turns."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments
from headway_lab.commands.claims import LEDGER
from headway_lab.experiments.klink.command import show
from headway_lab.harness import tasks
from headway_lab.harness.ledger import Ledger, origin
from headway_lab.harness.measuring import measured
from headway_lab.harness.setting import POOLS, policies_named
from headway_lab.harness.suite import GATELESS, base_setting, plan, settings

EXPERIMENT = "kafka"
SPARE_MS = 100  # a producer with a neighbour on its core is late now and then: such rows would be late for no fault of ours


def kafka(
    workload: Annotated[str, typer.Option(help="Streams, with a plus between them.")] = "taxi+linear-road",
    policies: Annotated[str, typer.Option(help="Policies, with commas between them.")] = ",".join(("klink", *GATELESS)),
    queries: Annotated[str, typer.Option(help="Numbers of queries; each stream has as many of them.")] = "8",
    rate: Annotated[str, typer.Option(help="Rows per second of each stream: one, or one for each number.")] = "500",
    delay: Annotated[str, typer.Option(help="uniform:LOW:HIGH, zipf:EXPONENT:MAX, gamma:SHAPE:SCALE ...")] = "uniform:0:500",
    patience: Annotated[int | None, typer.Option(help="Patience in ms; as long as the longest delay unless told.")] = None,
    seconds: Annotated[int, typer.Option(help="Measured seconds per policy.")] = 30,
    settle: Annotated[int, typer.Option(help="Seconds before that, not measured.")] = 15,
    seeds: Annotated[str, typer.Option(help="Seeds; for each one, all policies take their turn.")] = "1,2,3",
    warm_s: Annotated[float, typer.Option("--warm", help="At most so many seconds of warm-up.")] = 240,
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
    resume: Annotated[bool, typer.Option(help="Pass over what this commit has in the ledger already.")] = True,
    memory: Annotated[str, typer.Option(help="Memory of the driver.")] = "6g",
    cores: Annotated[int | None, typer.Option(help="Cores for Spark; all of them unless told.")] = None,
) -> None:
    """Measure output latency of queries that read from Kafka; broker and producers share the cores with Spark."""
    arguments.at_least("seconds", seconds, 1)
    for key, value in (("settle", settle), ("warm", warm_s), ("patience", patience or 0)):
        arguments.at_least(key, value, 0)
    tasks.check(workload)
    base = replace(base_setting(delay, patience, seconds, settle), workload=workload)
    if patience is None:
        base = replace(base, patience_ms=base.patience_ms + SPARE_MS)
    cases = settings(arguments.wholes("queries", queries), arguments.wholes("rate", rate), base)
    names, numbers, book = policies_named(policies), arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    segments = plan(names, cases, numbers, book.done() if resume else (), origin()["commit"], EXPERIMENT)
    measured(
        segments, book, warm_s, cores=arguments.cores(cores), memory=arguments.memory(memory), experiment=EXPERIMENT,
        warm_on=replace(cases[0], seconds=40, settle=2), kafka=True, conf=POOLS,
    )  # fmt: skip
    show(book, names, cases, numbers, EXPERIMENT)
