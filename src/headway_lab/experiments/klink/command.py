"""`headway bench klink`: output latency under several policies that take turns in one warm JVM."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from headway.cli import arguments
from headway_lab.commands.claims import LEDGER
from headway_lab.harness import screen
from headway_lab.harness.ledger import Ledger, newest, origin
from headway_lab.harness.measuring import measured
from headway_lab.harness.setting import POOLS, Setting, policies_named
from headway_lab.harness.suite import EXPERIMENT, GATED, GATELESS, base_setting, by_setting, plan, ratio_to_best, settings


def klink(
    policies: Annotated[str, typer.Option(help="Policies, with commas between them.")] = ",".join((*GATED, *GATELESS)),
    queries: Annotated[str, typer.Option(help="Numbers of queries.")] = "10,20,40",
    rate: Annotated[str, typer.Option(help="Events per second and query: one, or one for each number.")] = "1000,200,200",
    delay: Annotated[str, typer.Option(help="uniform:LOW:HIGH, zipf:EXPONENT:MAX, gamma:SHAPE:SCALE ...")] = "uniform:0:500",
    patience: Annotated[int | None, typer.Option(help="Patience in ms; as long as the longest delay unless told.")] = None,
    unequal: Annotated[float, typer.Option(help="How much rates differ: standard deviation over mean.")] = 0.0,
    seconds: Annotated[int, typer.Option(help="Measured seconds per policy.")] = 30,
    settle: Annotated[int, typer.Option(help="Seconds before that, not measured.")] = 10,
    seeds: Annotated[str, typer.Option(help="Seeds; for each one, all policies take their turn.")] = "1,2,3",
    warm_s: Annotated[float, typer.Option("--warm", help="At most so many seconds of warm-up.")] = 360,
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
    resume: Annotated[bool, typer.Option(help="Pass over what this commit has in the ledger already.")] = True,
    memory: Annotated[str, typer.Option(help="Memory of the driver.")] = "6g",
    cores: Annotated[int | None, typer.Option(help="Cores for Spark; all of them unless told.")] = None,
) -> None:
    """Measure output latency under several policies, in turns, in one warm JVM."""
    arguments.at_least("seconds", seconds, 1)
    for key, value in (("settle", settle), ("warm", warm_s), ("patience", patience or 0), ("unequal", unequal)):
        arguments.at_least(key, value, 0)
    base = base_setting(delay, patience, seconds, settle, unequal=unequal)
    cases = settings(arguments.wholes("queries", queries), arguments.wholes("rate", rate), base)
    names, numbers, book = policies_named(policies), arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    given_memory, given_cores = arguments.memory(memory), arguments.cores(cores)
    segments = plan(names, cases, numbers, book.done() if resume else (), origin()["commit"])
    measured(segments, book, warm_s, cores=given_cores, memory=given_memory, conf=POOLS)
    show(book, names, cases, numbers)


def show(
    book: Ledger, policies: Sequence[str], cases: Sequence[Setting], seeds: Sequence[int], experiment: str = EXPERIMENT
) -> None:
    """What this commit has in the ledger of what was asked for."""
    wanted = [asdict(case) for case in cases]
    records = [
        record
        for record in newest(book.records())
        if record["experiment"] == experiment and record["commit"] == origin()["commit"] and record["setting"] in wanted
        if record["policy"] in policies and record["seed"] in seeds
    ]
    for load, by_policy in by_setting(records).items():
        screen.out.print(screen.latency_table(f"{load}: median of seeds (least..greatest)", by_policy))
        mean, tail = ratio_to_best(by_policy, "mean_ms"), ratio_to_best(by_policy, "p99_ms")
        if mean and tail:
            screen.out.print(
                f"Klink over the best of {', '.join(p for p in GATELESS if p in by_policy)}:"
                f" mean {mean.middle:.3f} ({mean.low:.3f}..{mean.high:.3f}),"
                f" p99 {tail.middle:.3f} ({tail.low:.3f}..{tail.high:.3f})",
                highlight=False,
            )
