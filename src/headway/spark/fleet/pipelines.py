"""The pipeline files of a node, read when they are first asked for and again when they have changed."""

import hashlib
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway import pipeline
from headway.errors import HeadwayError
from headway.fleet.node.host import Declined, NotHosted
from headway.loop.trouble import says
from headway.spark.register import carry


class PipelineFiles:
    """The queries that files declare. A file is code: a caller that may name one may run what is in it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], dict[str, pipeline.Query]] = {}

    def query(self, file: str, name: str, digest: str | None) -> pipeline.Query:
        """The query of that name, as the file has it now; with `digest`, only if it is that very file."""
        path = Path(file)
        pipeline.check(path)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest not in (None, found):
            raise Declined(f"pipeline = {file!r}: expected the file with sha256 {digest}, here it has {found}")
        with self._lock:  # what is marked while a file is read is kept in one place
            if (file, found) not in self._known:
                with user_code(path, "pipeline"):
                    queries = pipeline.load(path)
                for module in {query.build.__module__ for query in queries}:
                    carry(module)
                self._known[file, found] = {query.name: query for query in queries}
            queries_by_name = self._known[file, found]
        if name not in queries_by_name:
            raise NotHosted(f"query = {name!r}: expected one of {', '.join(queries_by_name)}, which {file} has")
        return queries_by_name[name]


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
        raise Declined(f"{what}: {where}: {says(error)}") from None


def writer_of(query: pipeline.Query, file: str, rt: Any, spark: Any) -> Any:
    """What the query's function returns: a DataStreamWriter that is ready to start."""
    with user_code(Path(file), f"query {query.name}"):
        writer = query.build(rt, spark)
        if not hasattr(writer, "queryName"):
            raise Declined(f"query {query.name}: expected a function that returns a DataStreamWriter, not started")
    return writer
