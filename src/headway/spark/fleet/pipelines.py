"""The pipeline files of a node, read when they are first asked for and again when they have changed."""

import hashlib
import threading
from pathlib import Path

from headway import pipeline
from headway.fleet.node.host import Declined, NotHosted
from headway.spark.user_code import loaded


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
                self._known[file, found] = {query.name: query for query in loaded(path)}
            queries_by_name = self._known[file, found]
        if name not in queries_by_name:
            raise NotHosted(f"query = {name!r}: expected one of {', '.join(queries_by_name)}, which {file} has")
        return queries_by_name[name]
