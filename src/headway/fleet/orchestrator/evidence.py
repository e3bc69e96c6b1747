"""Signs that an incarnation is over. A sign is no proof: it is a reason to ask the store, which bars no held lease."""

from headway.fleet.moves.record import Phase, QueryRecord
from headway.fleet.orchestrator.book import RecordBook
from headway.fleet.orchestrator.known_nodes import KnownNodes
from headway.fleet.orchestrator.messages import NodeReport
from headway.model.time import WallMs

LISTED = (Phase.TRIAL, Phase.SERVING)  # a node that says what it hosts names these


class LossEvidence:
    """What speaks against which query's incarnation, and since when each is as it is."""

    def __init__(self, book: RecordBook, nodes: KnownNodes, launch_ms: int, bar_ms: int) -> None:
        self._book, self._nodes, self._launch_ms, self._bar_ms = book, nodes, launch_ms, bar_ms
        self._against: dict[str, tuple[int, str]] = {}  # query -> epoch, reason
        self._since: dict[str, tuple[tuple[int, Phase], WallMs]] = {}
        self._tried: dict[str, WallMs] = {}  # when its lease was to be barred last

    @property
    def suspected(self) -> list[str]:
        return list(self._against)

    def why(self, query: str) -> str:
        return self._against.get(query, (0, "it did not answer"))[1]

    def age_ms(self, query: str, now: WallMs) -> int:
        """For how long its newest incarnation has been in its phase, as far as this primary knows."""
        return now - self._since[query][1] if query in self._since else 0

    def adopted(self, record: QueryRecord, now: WallMs) -> None:
        """A record has changed."""
        key = (0 if record.here is None else record.here.epoch, record.phase)
        if self._since.get(record.query, (None,))[0] != key:
            self._since[record.query] = (key, now)
        if self._against.get(record.query, (key[0], ""))[0] != key[0]:
            del self._against[record.query]

    def members_changed(self) -> list[str]:
        """Queries whose node has no session any more."""
        found = [(query, node) for node in self._nodes.missing(self._book.nodes) for query in self._book.on(node)]
        return [query for query, node in found if self._suspect(query, f"{node} has lost its session")]

    def reported(self, report: NodeReport) -> list[str]:
        """Queries that a node ought to host and does not name."""
        found = []
        for query in self._book.on(report.node):
            record = self._record(query)
            hosted = report.hosted.get(query)
            missing = record.here is not None and (hosted is None or hosted.epoch != record.here.epoch)
            if missing and record.phase in LISTED and self._suspect(query, f"{report.node} does not host it"):
                found.append(query)
        return found

    def failed(self, record: QueryRecord, node: str, epoch: int, because: str) -> bool:
        """Its own node says that it is over."""
        here = record.here
        return here is not None and (here.node, here.epoch) == (node, epoch) and self._suspect(record.query, because)

    def held(self, query: str, epoch: int) -> None:
        """The store knows better; if it is over all the same, the next sign will come."""
        if self._against.get(query, (None,))[0] == epoch:
            del self._against[query]

    def to_bar(self, query: str, now: WallMs) -> bool:
        """Whether it should be tried now to bar its lease."""
        launching = self._record(query).phase in (Phase.COPYING, Phase.STARTING, Phase.ENDING)
        if query not in self._against and not (launching and self.age_ms(query, now) >= self._launch_ms):
            return False
        if now - self._tried.get(query, WallMs(-self._bar_ms)) < self._bar_ms:
            return False
        self._tried[query] = now
        return True

    def _suspect(self, query: str, because: str) -> bool:
        here = self._record(query).here
        if here is not None:
            self._against[query] = (here.epoch, because)
        return here is not None

    def _record(self, query: str) -> QueryRecord:
        stored = self._book.get(query)
        assert stored is not None
        return stored.record
