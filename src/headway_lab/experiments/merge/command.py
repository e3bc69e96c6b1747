"""`headway bench merge`: does the ordered merge keep its order in every interleaving, and what does it cost?"""

import tempfile
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from headway.cli import arguments
from headway.errors import HeadwayError
from headway_lab.experiments.merge import run as merges
from headway_lab.harness import screen
from headway_lab.harness.options import CoresOption, MemoryOption, at_least


def merge(
    interleavings: Annotated[int, typer.Option(help="Random interleavings of the same rows; 0 for none.")] = 20,
    rows: Annotated[int, typer.Option(help="Rows per batch, for the cost.")] = 20_000,
    keys: Annotated[int, typer.Option(help="Keys among them.")] = 200,
    batches: Annotated[int, typer.Option(help="Batches per run; the first two are not counted.")] = 8,
    rounds: Annotated[int, typer.Option(help="Runs of each kind, in turns; 0 for none.")] = 3,
    memory: MemoryOption = "4g",
    cores: CoresOption = None,
) -> None:
    """Run the ordered merge over the same rows in many interleavings, and time it beside a plain groupBy."""
    at_least(0, interleavings=interleavings, rounds=rounds)
    at_least(1, rows=rows, keys=keys)
    arguments.at_least("batches", batches, 4)
    from headway.spark.session import session

    spark = session("headway-merge", cores=arguments.cores(cores), memory=arguments.memory(memory), rows_per_batch=rows)
    try:
        with tempfile.TemporaryDirectory(prefix="headway-merge-") as place:
            if interleavings:
                _compare(spark, Path(place), interleavings)
            if rounds:
                _price(merges.cost(spark, Path(place), rows, keys, batches, rounds), rows)
    finally:
        spark.stop()


def _compare(spark: object, place: Path, count: int) -> None:
    first = merges.sequences(spark, place / "0", 0)
    others = [seed for seed in range(1, count) if merges.sequences(spark, place / str(seed), seed) != first]
    if others:
        raise HeadwayError(
            f"{len(others)} of {count} interleavings came out otherwise, the first of them with seed {others[0]}"
        )
    screen.out.print(f"{count} interleavings, {sum(map(len, first.values()))} rows each: the same output, row for row")


def _price(costs: list[merges.MergeCost], rows: int) -> None:
    for cost in costs:
        screen.out.print(f"merge {cost.merge:,.0f} rows/s, groupBy {cost.aggregate:,.0f} rows/s, batches of {rows:,}")
    ratio = median(c.merge / c.aggregate for c in costs)
    screen.out.print(f"median: the merge reaches {ratio:.2f} of the rows per second of the plain groupBy")
