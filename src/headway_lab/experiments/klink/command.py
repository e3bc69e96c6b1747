"""`headway bench klink`: output latency under several policies that take turns in one warm JVM."""

from typing import Annotated

import typer

from headway.cli import arguments
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
from headway_lab.harness.suite import GATED, GATELESS, base_setting, plan, settings

ALL_POLICIES = ",".join((*GATED, *GATELESS))


def klink(  # an argument for each option of the command
    policies: PoliciesOption = ALL_POLICIES,
    queries: Annotated[str, typer.Option(help="Numbers of queries.")] = "10,20,40",
    rate: Annotated[str, typer.Option(help="Events per second and query: one, or one for each number.")] = "1000,200,200",
    delay: DelayOption = "uniform:0:500",
    patience: PatienceOption = None,
    unequal: Annotated[float, typer.Option(help="How much rates differ: standard deviation over mean.")] = 0.0,
    seconds: SecondsOption = 30,
    settle: SettleOption = 10,
    seeds: SeedsInTurnOption = "1,2,3",
    warm_s: WarmOption = 360,
    ledger: LedgerOption = LEDGER,
    resume: ResumeOption = True,
    memory: MemoryOption = "6g",
    cores: CoresOption = None,
) -> None:
    """Measure output latency under several policies, in turns, in one warm JVM."""
    arguments.at_least("seconds", seconds, 1)
    at_least(0, settle=settle, warm=warm_s, patience=patience or 0, unequal=unequal)
    base = base_setting(delay, patience, seconds, settle, unequal=unequal)
    cases = settings(arguments.wholes("queries", queries), arguments.wholes("rate", rate), base)
    names, numbers, book = policies_named(policies), arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    session = BenchSession.of(cores, memory, conf=POOLS)
    segments = plan(names, cases, numbers, book.done() if resume else (), origin()["commit"])
    measured(segments, book, warm_s, session)
    show_latencies(book, names, cases, numbers)
