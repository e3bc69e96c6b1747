"""`headway bench scripts`: random scripts on real Spark, each beside the same query in stock Spark (claim X1b)."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.scripts.on_spark.playable import CLOSING_MS, LENGTH_MS, script
from headway_lab.experiments.scripts.on_spark.record import record, slowest_ms
from headway_lab.experiments.scripts.on_spark.side_by_side import play
from headway_lab.experiments.scripts.on_spark.verdict import Verdict, judged
from headway_lab.experiments.scripts.virtual.script import kind_of
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger
from headway_lab.harness.options import LedgerOption

EXPERIMENT = "scripts_on_spark"
STARTING_S, MEMORY = 20.0, "2g"
KEPT_BATCHES = {"spark.sql.streaming.minBatchesToRetain": "10000"}  # the logs of all batches are read afterwards
SHOWN = 5


def scripts(
    count: Annotated[int, typer.Option(help="How many scripts.")] = 200,
    seed: Annotated[int, typer.Option(help="Another seed, other scripts.")] = 1,
    first: Annotated[int, typer.Option(help="The number of the first.")] = 0,
    beside: Annotated[int, typer.Option(help="How many run at the same time.")] = 7,
    cores: Annotated[int | None, typer.Option(help="Spark's task slots; all unless told.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to keep what the run leaves behind.")] = None,
    ledger: LedgerOption = LEDGER,
) -> None:
    """Play random scripts on real Spark, with stock Spark beside, and hold the same laws against what came out.

    Rows come as files that both queries read: late ones, old ones, future ones, none for a while; queries are stopped,
    started with other settings, fail in and after their sink, lose their line, and the controller fails. From Spark's own
    logs every batch is rebuilt, and compared with the laws, the model, the side table, and what stock Spark has put out.
    """
    arguments.at_least("count", count, 1)
    arguments.at_least("first", first, 0)
    arguments.at_least("beside", beside, 1)
    numbers = range(first, first + count)
    waves = [numbers[n : n + beside] for n in range(0, count, beside)]
    work = Path(tempfile.mkdtemp(prefix="headway-scripts-")) if folder is None else folder
    found: list[Verdict] = []
    with (
        screen.spark_session("headway-scripts", cores=arguments.cores(cores), memory=MEMORY, **KEPT_BATCHES) as spark,
        screen.ProgressBar([STARTING_S + (LENGTH_MS + CLOSING_MS) / 1000] * len(waves)) as bar,
    ):
        for wave in waves:
            wrong = sum(bool(v.wrong) for v in found)
            bar.begin(f"scripts {wave.start} to {wave.stop - 1}, {wrong} with something wrong so far")
            parts, end = play(spark, [(n, script(seed, n)) for n in wave], work / f"{wave.start}")
            batch_ms = slowest_ms(parts)
            for part in parts:
                found.append(judged(part, record(part, end, batch_ms)))
                if not found[-1].wrong and folder is None:
                    shutil.rmtree(part.folder, ignore_errors=True)
            bar.end()
    if folder is None and not any(v.wrong for v in found):
        shutil.rmtree(work, ignore_errors=True)
    _report(found, seed, ledger, count, first, work)


def _report(found: Sequence[Verdict], seed: int, ledger: Path, count: int, first: int, work: Path) -> None:
    wrong = [v for v in found if v.wrong]
    sums = {name: sum(getattr(v, name) for v in found) for name in Verdict.FIGURES}
    Ledger(ledger).append(EXPERIMENT, "all", {"count": count, "first": first}, seed, sums | {"violations": len(wrong)})
    screen.out.print(_table(found, seed))
    screen.out.print(
        f"{len(found):,} scripts, {sums['batches']:,} batches, {sums['windows']:,} windows, {sums['rows']:,} rows: "
        f"{sums['refused']:,} rows were late, of which stock Spark beside kept {sums['refused_alone']:,}, each for a reason"
        f" that the contract names; {sums['kept_alone']:,} are in a window here and not in stock Spark's",
        highlight=False,
    )
    for verdict in wrong[:SHOWN]:
        screen.out.print(f"script {verdict.number}: {verdict.wrong[0]}", style="bold red", highlight=False, soft_wrap=True)
    if wrong:
        screen.out.print(f"{len(wrong)} scripts with something wrong; what they left behind is in {work}", highlight=False)
        raise typer.Exit(1)
    screen.out.print("all as the contract says", highlight=False)


def _table(found: Sequence[Verdict], seed: int) -> Table:
    made = Table(box=box.SIMPLE_HEAD)
    made.add_column("what happens")
    for head in ("scripts with it", "something wrong"):
        made.add_column(head, justify="right")
    kinds = {v.number: {kind_of(a) for a in script(seed, v.number).actions} for v in found}
    for kind in sorted(set().union(*kinds.values())):
        having = [v for v in found if kind in kinds[v.number]]
        made.add_row(kind, f"{len(having)}", f"{sum(bool(v.wrong) for v in having)}")
    return made
