"""`headway bench kafka`: Linear Road and taxi trips through a real broker, under policies that take turns."""

from dataclasses import replace
from typing import Annotated

import typer

from headway.cli import arguments
from headway_lab.harness import tasks
from headway_lab.harness.ledger import LEDGER, Ledger, origin
from headway_lab.harness.measuring import BenchSession, measured, show_latencies
from headway_lab.harness.options import (
    CoresOption,
    DelayOption,
    LedgerOption,
    MemoryOption,
    PatienceOption,
    PoliciesOption,
    ResumeOption,
    SecondsOption,
    SeedsInTurnOption,
    SettleOption,
    WarmOption,
    at_least,
)
from headway_lab.harness.setting import POOLS, policies_named
from headway_lab.harness.suite import GATELESS, base_setting, plan, settings

ALL_POLICIES = ",".join(("klink", *GATELESS))
EXPERIMENT = "kafka"


def kafka(  # an argument for each option of the command
    workload: Annotated[str, typer.Option(help="Streams, with a plus between them.")] = "taxi+linear-road",
    policies: PoliciesOption = ALL_POLICIES,
    queries: Annotated[str, typer.Option(help="Numbers of queries; each stream has as many of them.")] = "8",
    rate: Annotated[str, typer.Option(help="Rows per second of each stream: one, or one for each number.")] = "500",
    delay: DelayOption = "uniform:0:500",
    patience: PatienceOption = None,
    seconds: SecondsOption = 30,
    settle: SettleOption = 15,
    seeds: SeedsInTurnOption = "1,2,3",
    warm_s: WarmOption = 240,
    ledger: LedgerOption = LEDGER,
    resume: ResumeOption = True,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Measure output latency of queries that read from Kafka; broker and producers share the cores with Spark."""
    arguments.at_least("seconds", seconds, 1)
    at_least(0, settle=settle, warm=warm_s, patience=patience or 0)
    tasks.check(workload)
    base = replace(base_setting(delay, patience, seconds, settle), workload=workload)
    if patience is None:
        base = replace(base, patience_ms=base.patience_ms + tasks.SPARE_MS)
    cases = settings(arguments.wholes("queries", queries), arguments.wholes("rate", rate), base)
    names, numbers, book = policies_named(policies), arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    segments = plan(names, cases, numbers, book.done() if resume else (), origin()["commit"], EXPERIMENT)
    session = BenchSession.of(cores, memory, kafka=True, conf=POOLS)
    measured(segments, book, warm_s, session, EXPERIMENT, warm_on=replace(cases[0], seconds=40, settle=2))
    show_latencies(book, names, cases, numbers, EXPERIMENT)
