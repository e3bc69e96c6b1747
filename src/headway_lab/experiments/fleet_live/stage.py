"""Three nodes on machines of a part of a core, twelve queries on them, and what feeds and disturbs these."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from headway.errors import HeadwayError
from headway.fleet.client import NodeClient
from headway.policy.load import policy_of
from headway_lab.experiments.fleet_live import queries as pipeline
from headway_lab.experiments.fleet_live.feed import RowFeed
from headway_lab.experiments.fleet_live.slices import CoreSlices
from headway_lab.experiments.fleet_live.staged_fleet import KEEPS_STILL, StagedFleet
from headway_lab.experiments.fleet_live.watch import FleetWatch, wait_until
from headway_lab.harness.bench import let_pass
from headway_lab.harness.setting import Say
from headway_lab.workloads.bio import hog

DRAIN_S = 40.0


@dataclass(frozen=True, slots=True)
class StagePlan:
    """How large all of it is."""

    nodes: int = 3
    queries: int = 12
    cores: float = 0.6  # of each node
    window_ms: int = 10_000
    row_ms: float = 1.0  # of processor time
    heavy: int = 140  # rows a second
    light: int = 10
    cool_down_ms: int = 5_000  # of all policies: minutes are short here
    rest_ms: int = 10_000
    limited: bool = True  # by control groups; else a row costs so much more that the same queries crowd a whole core

    def policy(self, name: str) -> str:
        """A policy with the times of this stage. Rows of some bytes make scores small: nothing is spared by a threshold.

        Raises a SettingError for one that there is not.
        """
        if name != KEEPS_STILL:
            own = "threshold=0," if name == "prediction-rings" else ""
            name = f"{name}:{own}cool_down_ms={self.cool_down_ms},rest_ms={self.rest_ms}"
        policy_of("placement", name)
        return name


class FleetStage:
    """Started by `with`; everything is gone afterwards, also after Ctrl-C."""

    fleet: StagedFleet
    feed: RowFeed
    watch: FleetWatch

    def __init__(self, plan: StagePlan, say: Callable[[str], None]) -> None:
        self.plan, self._say = plan, say
        self.queries = pipeline.names(plan.queries)
        self._stack = ExitStack()
        self._slices: CoreSlices | None = None
        self._clients: dict[str, NodeClient] = {}

    def limits(self) -> None:
        """Make the groups; raises a HeadwayError where that cannot be."""
        if self.plan.limited and self._slices is None:
            self._slices = CoreSlices((f"n{number}" for number in range(1, self.plan.nodes + 1)), self.plan.cores)
            self._stack.callback(self._slices.close)

    def __enter__(self) -> "FleetStage":
        try:
            place = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="headway-feed-")))
            self.limits()
            self.fleet = StagedFleet(self.plan.nodes, self._say)
            self._stack.callback(self.fleet.end)
            self.feed = RowFeed(place / "rows", self.queries)
            self._stack.callback(self.feed.stop)
            self._clients = {node: self._client(node) for node in self.fleet.nodes}
            self.watch = FleetWatch(self._clients, self.feed)
            self._stack.callback(self.watch.stop)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def submit(self, places: Mapping[str, str]) -> None:
        """All queries, each on its node; returns when all of them serve."""
        row_ms = self.plan.row_ms if self._slices else self.plan.row_ms / self.plan.cores
        self.fleet.submit(pipeline.pipeline_text(self.queries, self.feed.folder, row_ms, self.plan.window_ms), places)

    def decide_by(self, policy: str) -> None:
        self.fleet.decide_by(self.plan.policy(policy))

    def limit(self, on: bool) -> None:
        """Whether nodes have their part of a core only."""
        if self._slices is not None:
            for node in self.fleet.nodes:
                self._slices.put(node, self.fleet.started.members[node].pid)
            self._slices.limit(on)

    def send(self, heavy: Sequence[str]) -> None:
        """These queries get many rows, the others few."""
        self.feed.send({query: self.plan.heavy if query in heavy else self.plan.light for query in self.queries})

    def rest(self, places: Mapping[str, str] | None = None) -> None:
        """Nothing more is sent, nothing moves any more but to these places, and what was sent is read."""
        self.limit(False)
        self.feed.send({})
        self.decide_by(KEEPS_STILL)
        if places is not None:
            self.fleet.arrange(places)
        wait_until(lambda: self.watch.read >= self.feed.total, DRAIN_S)

    def warm(self, seconds: float, say: Say) -> None:
        """All that JVMs can have of the machine, and every other query busy."""
        self.send(self.queries[::2])
        let_pass("the JVMs get warm", seconds, say)

    def disturb(self, node: str, cores: float, seconds: float) -> Callable[[], None]:
        """A program beside this node that wants so many cores; ended by what is returned, or after so many seconds."""
        if self._slices is None:
            raise HeadwayError("a program beside one node would disturb all of them: nothing limits it here")
        process = self._stack.enter_context(hog.eating("cpu", cores, seconds))
        self._slices.put(node, process.pid)
        return process.terminate

    def agent_seconds(self) -> dict[str, float]:
        """Processor time of each node's agent so far."""
        return {name: float(node.health()["agent_s"]) for name, node in self._clients.items()}

    def _client(self, name: str) -> NodeClient:
        started = self.fleet.started
        return self._stack.enter_context(NodeClient(f"http://{started.members[name].address}", started.token, attempts=1))
