"""The record in memory and on the disk, for the thread that decides and the one that carries out."""

import threading
from collections.abc import Callable

from headway.wan.control.record import AreaRecord, PlacedPiece, RecordFile


class AreaBook:
    """Each change is on the disk before it is seen."""

    def __init__(self, file: RecordFile, begun: AreaRecord) -> None:
        """Goes on with what is in the file, if there is something."""
        self._file, self._lock = file, threading.Lock()
        found = file.read()
        self.found = found is not None
        self._record = begun if found is None else found
        if found is None:
            file.write(begun)

    @property
    def record(self) -> AreaRecord:
        return self._record

    def change(self, change: Callable[[AreaRecord], AreaRecord]) -> AreaRecord:
        with self._lock:
            changed = change(self._record)
            if changed != self._record:
                self._file.write(changed)
                self._record = changed
            return changed

    def put(self, placed: PlacedPiece) -> None:
        """A piece of whichever plan has it, as it stands now; nothing if none has it any more."""

        def changed(record: AreaRecord) -> AreaRecord:
            for plan in record.plans:
                if any(one.name == placed.name for one in plan.pieces):
                    return record.with_plan(plan.with_piece(placed))
            return record

        self.change(changed)
