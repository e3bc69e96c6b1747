"""What a runtime with a gate has beside Spark: a journal, a gate, and a controller on a thread of its own."""

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from headway.loop.capacity import Capacity
from headway.loop.controller import Controller
from headway.loop.journal import Journal
from headway.loop.journal_file import state_folder
from headway.loop.supervision import Supervision
from headway.loop.trouble import says
from headway.model.decision import OrderPolicy
from headway.model.message import Gone, InputSpec, Message, QuerySpec, Stood, Unreadable
from headway.model.status import RuntimeStatus
from headway.model.time import SystemClock
from headway.policy.order import RoundRobin
from headway.spark import jvm
from headway.spark.channel.gate import Gate
from headway.spark.channel.leased_gate import LeasedGate
from headway.spark.channel.rows import control_rows
from headway.spark.gauge import DriverGauge
from headway.spark.kafka import PartitionWatch, Subscription
from headway.spark.lease import Leases, default_fs, local_path
from headway.spark.listening.reports import BatchReports
from headway.spark.memory import Memory
from headway.spark.profile import Profile, one_task, usual
from headway.spark.relay.follow import Tails
from headway.spark.shown import Showing
from headway.spark.starting import Starting

CORES = 2  # until executors have come


@dataclass(frozen=True, slots=True)
class Input:
    """An input under control: as the controller knows it, how its batches are run, and the log that it reads."""

    spec: InputSpec
    profile: Profile
    log: Subscription | None = None


class Plane:
    """Connects the controller and Spark: reports and questions in, control offsets out.

    The controller's thread alone reads what the controller knows. Others `post` to it, and look at its `status`.
    """

    def __init__(
        self,
        spark: Any,
        order: OrderPolicy,
        handles: dict[str, Any],
        leases: Leases,
        slots: int | Literal["auto"],
        journal: str | Path | None,
    ) -> None:
        """`handles` has Spark's queries by name, and gets those that are started."""
        self._spark, self._handles, self._leases = spark, handles, leases
        named = f"{spark.sparkContext.applicationId}.db"
        self.journal_path = Path(journal) if journal is not None else state_folder() / named
        self.journal = Journal(self.journal_path)
        self._clock = SystemClock()
        self.gate = Gate(self.post, self._asked, self._line_ended, self._clock.now)
        self._learning = ThreadPoolExecutor(1, thread_name_prefix="headway-learning")
        gauge = DriverGauge(spark)
        cores = gauge.parallelism() or CORES
        capacity = Capacity(gauge, slots, cores, one_task(spark, usual(spark)), gauge.planning_cores)
        self._controller = Controller(
            self._clock, order, LeasedGate(self.gate, leases), self.journal, capacity,
            background=self._learning.submit,  # the controller must not wait for a model to be fitted
        )  # fmt: skip
        self.supervision = Supervision(self._controller, self.gate, RoundRobin())
        self.supervision.start()
        self.by_jar = jvm.present(spark)
        self.control = control_rows(spark, self.gate, self.by_jar)
        self.starting = Starting(self.gate, leases, handles, nameless=not self.by_jar)
        self.watch = PartitionWatch(spark, self.post)
        self.tails = Tails(self.post)
        self.reports = BatchReports(self.post, self._committed)
        self.inputs: dict[str, Input] = {}
        self.on_end: Callable[[], None] = lambda: None  # called when a query has ended with its line
        self._showing: Showing | None = None

    # ---- for any thread

    def post(self, message: Message) -> None:
        if isinstance(message, Gone):  # its last batch may have ended since it asked
            self._asked(message.query)
        self._controller.post(message)

    def note(self, query: str, text: str) -> None:
        """Write a line about a query into the journal."""
        self.journal.note(self._clock.now(), query, text)

    def status(self) -> RuntimeStatus:
        """How things stand, as the controller told it last."""
        return self.supervision.status()

    def turned(self) -> None:
        """A query has died, or ended: whoever looks at the pages is told now, not at the next second."""
        if (showing := self._showing) is not None:
            showing.soon()

    def show(self, status: Callable[[], RuntimeStatus], options: Sequence[str]) -> str:
        """Serve pages about all of this; returns where they are."""
        if self._showing is None:
            self._showing = Showing(status, self._spark.sparkContext.uiWebUrl, self.journal_path)
        return self._showing.address(options)

    def drain(self, timeout_s: float, query: str | None = None, stood: Callable[[Stood], None] | None = None) -> bool:
        """No further batch of this query, or of any; False if one still runs then."""
        return self.supervision.drain(timeout_s, query, stood)

    def start(self, writer: Any, spec: QuerySpec, begin: Callable[[], Any]) -> Any:
        """Start a query under the gate; `begin` starts Spark's own."""
        return self.starting.start(writer, spec, self._prepared, begin)

    @property
    def closing(self) -> list[Callable[[], object]]:
        """What is closed when the queries have ended, one after the other."""
        learning, showing = self._learning, [] if self._showing is None else [self._showing.close]
        return [
            *showing, self.supervision.stop, self.gate.close, lambda: learning.shutdown(cancel_futures=True),
            self.watch.close, self.tails.close, self.journal.close,
        ]  # fmt: skip

    # ---- how it is done

    def _prepared(self, spec: QuerySpec, checkpoint: str | None) -> QuerySpec:
        """With what was told of sampled inputs before a restart."""
        if all(i.sampling is None for i in spec.inputs):
            return spec
        place = None if checkpoint is None else local_path(checkpoint, default_fs(self._spark))
        self.reports.memories[spec.name] = memory = Memory(place)
        return replace(spec, past=memory.past())

    def _asked(self, name: str) -> None:
        """A query asks for its next batch, so the report of its last one is ready."""
        if (query := self._handles.get(name)) is not None:
            try:
                self.reports.read(name, query)
            except Exception as error:
                self._controller.post(Unreadable(name, says(error)))

    def _line_ended(self, name: str) -> bool:
        """Whether the query has ended with its line; Spark says so a moment later."""
        query = self._handles.get(name)
        with contextlib.suppress(Exception):  # the query's own error is the user's to see, through query.exception()
            if query is not None and not query.awaitTermination(2):
                return False
        self._leases.release_ended()
        self.on_end()
        return True

    def _committed(self, group: str, source: str, offsets: str) -> None:
        """A query has read so far from what Spark calls `source`."""
        read = [i.log for i in self.inputs.values() if i.log is not None and i.log.key.partition("@")[0] == source]
        for log in {log.key: log for log in read}.values():  # inputs may share one
            self.watch.commit(log, group, offsets)
