"""How the controller hears of finished batches in a script: once of each, or as the script has it, lost, doubled or late."""

from collections.abc import Callable

from headway.model.message import BatchSeen
from headway_lab.experiments.scripts.virtual.host import ControllerHost
from headway_lab.experiments.scripts.virtual.script import Action
from headway_lab.experiments.scripts.virtual.trace import SourceLook
from headway_lab.experiments.scripts.virtual.two_clocks import TwoClocks

Later = Callable[[int, Callable[[], None]], None]  # do this so many milliseconds from now


class ReportDelivery:
    """The report of a query's last batch, until it is delivered."""

    def __init__(self, clock: TwoClocks, host: ControllerHost) -> None:
        self._clock, self._host = clock, host
        self._faults: list[Action] = []  # of the next reports
        self._report: tuple[BatchSeen, SourceLook] | None = None
        self._not_before = 0  # reports come in the order of their batches: one that is delayed delays those after it

    def fail_next(self, fault: Action) -> None:
        self._faults.append(fault)

    def finished(self, report: BatchSeen, look: SourceLook) -> None:
        self._report = (report, look)

    def forget(self) -> None:
        self._report, self._not_before = None, 0

    def deliver(self, later: Later) -> None:
        """Tell of the last batch, once; unless the script has it otherwise."""
        if self._report is None:
            return
        (report, look), self._report = self._report, None
        fault: Action = self._faults.pop(0) if self._faults else {"how": "tell"}
        if fault["how"] == "drop":
            return
        if fault["how"] == "delay":
            self._not_before = self._clock.true_ms + fault["by"]

        def tell() -> None:
            for _ in range(2 if fault["how"] == "repeat" else 1):
                self._tell(report, look)

        if self._not_before > self._clock.true_ms:
            later(self._not_before - self._clock.true_ms, tell)
        else:
            tell()

    def _tell(self, report: BatchSeen, look: SourceLook) -> None:
        if self._host.controller is not None:
            self._host.tell(report)
            look.told_at = self._clock.true_ms
