"""A pipeline file is the user's own code: Spark's workers get it too, and an error in it is told with its line."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway import pipeline
from headway.errors import HeadwayError, SettingError
from headway.loop.trouble import says
from headway.spark.register import carry


def loaded(file: Path) -> list[pipeline.Query]:
    """The queries that a file declares. Spark must run: the file may make functions for its workers."""
    with user_code(file, "pipeline"):
        queries = pipeline.load(file)
    for module in {query.build.__module__ for query in queries}:
        carry(module)
    return queries


def writer_of(query: pipeline.Query, file: Path, rt: Any, spark: Any) -> Any:
    """What the query's function returns: a DataStreamWriter that is ready to start."""
    with user_code(file, f"query {query.name}"):
        writer = query.build(rt, spark)
    if not hasattr(writer, "queryName"):
        raise SettingError(f"query {query.name}", writer, "a function that returns a DataStreamWriter, not started")
    return writer


@contextmanager
def user_code(file: Path, what: str) -> Iterator[None]:
    """An error in the user's own file is theirs to fix: say where it is."""
    try:
        yield
    except HeadwayError:
        raise
    except Exception as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == file.resolve()]
        where = f"{file}, line {lines[-1]}" if lines else str(file)
        raise HeadwayError(f"{what}: {where}: {says(error)}") from None
