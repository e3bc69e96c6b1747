"""Rows for the queries of a fleet, as files: one a second for each query, with as many rows as its rate says."""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

SCHEMA = "at long, value long"


class RowFeed:
    """A thread that writes. A file is there whole or not at all; its rows happened in the second that has just ended."""

    def __init__(self, folder: Path, queries: Sequence[str]) -> None:
        self.folder = folder
        self.sent = dict.fromkeys(queries, 0)  # rows, all in all
        self._rates: Mapping[str, int] = {}
        self._half = folder / "half"
        for place in (self._half, *(folder / query for query in queries)):
            place.mkdir(parents=True)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headway-feed", daemon=True)
        self._thread.start()

    @property
    def total(self) -> int:
        return sum(self.sent.values())

    @property
    def rates(self) -> Mapping[str, int]:
        return self._rates

    def send(self, rates: Mapping[str, int]) -> None:
        """From now on so many rows a second; none for a query that is not named."""
        self._rates = dict(rates)

    def stop(self) -> None:
        self._over.set()
        self._thread.join(10)

    def _run(self) -> None:
        second = int(time.time()) + 1
        while not self._over.wait(max(0.0, second - time.time())):
            for query, rate in self._rates.items():
                self._write(query, second, rate)
            second = max(second + 1, int(time.time()))  # a machine that stood still has missed some

    def _write(self, query: str, second: int, rate: int) -> None:
        if rate < 1:
            return
        since = (second - 1) * 1000
        half = self._half / query
        half.write_text("".join(f'{{"at":{since + n * 1000 // rate},"value":{n}}}\n' for n in range(rate)))
        os.replace(half, self.folder / query / f"{second}.json")
        self.sent[query] += rate
