"""What a query's batches told of an input that is sampled, kept beside its checkpoint: a restart goes on where it was.

A line of JSON for each batch, in a file that Spark overlooks. It is written when the batch is done and reported; a batch
that is run again after a crash is reported again. A line that was cut off by a crash is the last, and is left out. Every
now and then the file is cut down to its last lines.
"""

import json
from collections import deque
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from headway.model.message import BatchSeen, InputSeen
from headway.model.sampling import GroupSeen, SubStreamSeen

FILE = ".headway.seen"
LINES = 100  # that are kept at most: the sub-streams that a policy goes by are in far fewer
LETTERS = 4_000_000  # in them: a batch of an hour is a line of two million, and two of those are enough


class Memory:
    """The file of one query; without a folder, none."""

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / FILE
        self._last: deque[str] = deque()
        self._more = 0  # letters in the file beyond those
        self._torn = False  # a write has failed: half a line may be in the file, and it is written anew

    def past(self) -> tuple[BatchSeen, ...]:
        """The last batches, oldest first; the file is cut down to them. What cannot be read is not remembered."""
        if self._path is None:
            return ()
        try:
            lines = self._path.read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return ()
        kept: dict[int, tuple[str, BatchSeen]] = {}
        for line in lines[-2 * LINES :]:
            with suppress(ValueError, KeyError, TypeError):
                batch = _batch(json.loads(line))
                kept[batch.batch] = (line, batch)
        last = list(kept.values())[-LINES:]
        for line, _ in last:
            self._keep(f"{line}\n")
        try:
            self._shorten(self._path)
        except OSError:  # a full disk: the query starts all the same
            self._torn = True
        return tuple(batch for _, batch in last)

    def _keep(self, line: str) -> None:
        self._last.append(line)
        while len(self._last) > LINES or (len(self._last) > 1 and self._letters > LETTERS):
            self._more += len(self._last.popleft())

    @property
    def _letters(self) -> int:
        return sum(map(len, self._last))

    def _shorten(self, path: Path) -> None:
        short = path.with_suffix(".new")
        short.write_text("".join(self._last), "utf-8")
        short.replace(path)
        self._more, self._torn = 0, False

    def add(self, batch: BatchSeen) -> None:
        told = [i for i in batch.inputs if i.substreams]
        if self._path is None or not told:
            return
        inputs = [
            {"name": i.name, "rows": i.rows, "delays": i.delays, "subs": _rows(i.substreams), "groups": _rows(i.groups)}
            for i in told
        ]
        line = json.dumps({"batch": batch.batch, "began": batch.began, "inputs": inputs}) + "\n"
        self._keep(line)
        try:
            if self._torn or self._more > self._letters:
                self._shorten(self._path)
            else:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(line)
        except OSError:
            self._torn = True


def _rows(seen: tuple[SubStreamSeen, ...] | tuple[GroupSeen, ...]) -> list[list[float]]:
    return [list(asdict(one).values()) for one in seen]


def _batch(line: dict[str, object]) -> BatchSeen:
    inputs = tuple(
        InputSeen(
            i["name"], i["rows"], delays=tuple((d, n) for d, n in i["delays"]),
            substreams=tuple(SubStreamSeen(*row) for row in i["subs"]), groups=tuple(GroupSeen(*row) for row in i["groups"]),
        )
        for i in line["inputs"]  # type: ignore[attr-defined]
    )  # fmt: skip
    began = line["began"]
    return BatchSeen("", line["batch"], began, began, 0, sum(i.rows for i in inputs), None, inputs)  # type: ignore[arg-type]
