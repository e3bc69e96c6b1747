"""`headway checkpoint`: what is in a checkpoint, and its state over another number of partitions."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlparse

import typer

from headway.cli import arguments, screen
from headway.errors import SettingError

if TYPE_CHECKING:
    from headway.spark.checkpoint.folder import Folder

app = typer.Typer(help="Look into a checkpoint, or spread its state over more partitions.", no_args_is_help=True)
Place = Annotated[str, typer.Argument(metavar="CHECKPOINT", help="The folder of a checkpoint: a path, or a URL.")]
LookMemory = Annotated[str, typer.Option(help="Memory of the Spark that looks there.")]


@app.command()
def show(place: Place, memory: LookMemory = "1g") -> None:
    """Say what is in a checkpoint, and which process uses it. Nothing is changed."""
    from headway.spark.checkpoint.folder import LocalFolder, folder_of

    arguments.memory(memory)
    if (path := _here(place)) is not None:
        lines = _lines(LocalFolder(path), place)
    else:
        with screen.spark_session("headway-checkpoint", cores=1, memory=memory) as spark:
            lines = _lines(folder_of(spark, place), place)
    for line in lines:
        typer.echo(line)


@app.command()
def repartition(
    place: Place,
    partitions: Annotated[int, typer.Option(help="Over how many partitions its state is to be spread.")],
    memory: LookMemory = "4g",
    cores: Annotated[int | None, typer.Option(help="Cores for it; all of them unless told.")] = None,
) -> None:
    """Spread the state of a stopped query over another number of partitions. RocksDB only, with Spark 4.3 or later."""
    from headway.spark.checkpoint.contents import contents
    from headway.spark.checkpoint.folder import LocalFolder
    from headway.spark.checkpoint.repartition import checked
    from headway.spark.checkpoint.repartition import repartition as rewrite

    arguments.at_least("partitions", partitions, 1)
    arguments.memory(memory)
    if (path := _here(place)) is not None:  # what is refused is refused before Spark starts
        checked(contents(LocalFolder(path), place), place, partitions)
    with screen.spark_session("headway-checkpoint", cores=arguments.cores(cores), memory=memory) as spark:
        done = rewrite(spark, place, partitions)
    many = "1 operator has" if done.operators == 1 else f"{done.operators} operators have"
    typer.echo(
        f"The state of {many} {done.after} partitions now, and had {done.before}: batch {done.batch} of {place} holds it. "
        f"Start the query as ever; it goes on where it was."
    )


def _here(place: str) -> Path | None:
    """The folder, if it is on this machine beyond doubt. A path without a scheme may be the cluster's, if one is set up."""
    from headway.spark.lease import local_path

    path = local_path(place)
    if path is None or path.is_dir():
        return path
    if urlparse(place).scheme == "" and "HADOOP_CONF_DIR" in os.environ:
        return None
    raise SettingError("checkpoint", place, "a folder that is there")


def _lines(folder: "Folder", place: str) -> list[str]:
    from headway.spark.checkpoint.contents import contents

    seen = contents(folder, place)
    batch = "none is done" if seen.done is None else f"{seen.done} is done"
    if seen.begun != seen.done:
        batch += f", {seen.begun} is begun"
    watermark = (
        "none yet" if seen.watermark_ms is None else datetime.fromtimestamp(seen.watermark_ms / 1000, UTC).isoformat()
    )
    state = f"{len(seen.operators)} operator(s) in {seen.provider_name}, {seen.partitions} partition(s)"
    return [
        f"query      {seen.query or 'unknown'}",
        f"batch      {batch}",
        f"watermark  {watermark}",
        f"state      {state if seen.operators else 'none'}",
        f"lease      {folder.holder() or 'free'}",
    ]
