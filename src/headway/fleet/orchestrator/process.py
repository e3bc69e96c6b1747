"""All parts of an orchestrator's process, put together: what `headway orchestrator` runs."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from headway.errors import aloud
from headway.fleet.node.app import Listening, NodeServer
from headway.fleet.orchestrator.api import PipelineShelf, application
from headway.fleet.orchestrator.candidate import Candidate, Connect
from headway.fleet.orchestrator.dispatch import Dispatch
from headway.fleet.orchestrator.loads import FleetLoads
from headway.fleet.orchestrator.posted import Posted
from headway.fleet.orchestrator.service import Hands, OrchestratorService
from headway.fleet.orchestrator.statuses import StatusPoll
from headway.loop.journal import Journal
from headway.model.placement import PlacementPolicy
from headway.model.time import SystemClock


@dataclass(frozen=True, slots=True)
class FleetPlaces:
    """Where a fleet has what it shares."""

    root: str  # in ZooKeeper
    checkpoints: str  # a folder that all nodes reach, on any file system
    pipelines: Path  # a folder that all nodes and orchestrators reach as files


@dataclass(frozen=True, slots=True)
class OrchestratorDoor:
    """How it is asked, and how it asks nodes: one token for both."""

    listening: Listening
    address: str | None = None  # where others reach it, if not where it listens
    ca: Path | None = None  # what the nodes' certificates are held against


class OrchestratorProcess:
    """Starts and ends the parts in the right order."""

    def __init__(
        self,
        name: str,
        connect: Connect,
        places: FleetPlaces,
        policy: PlacementPolicy,
        journal: Journal,
        door: OrchestratorDoor,
    ) -> None:
        listening, token = door.listening, door.listening.token or ""
        self._inbox: list[Callable[[Posted], None]] = []
        self._server = NodeServer(application(self._post, PipelineShelf(places.pipelines), token), listening)
        self.address = door.address or self._server.address
        self._journal, self._fitting = journal, ThreadPoolExecutor(1, thread_name_prefix="headway-fitting")
        loads = FleetLoads(self._fitting.submit)
        label = f"{name} at {self.address}"
        self.service = OrchestratorService(label, places.checkpoints, journal, policy, loads, SystemClock())
        self._inbox.append(self.service.post)
        candidate = Candidate(connect, places.root, label, self.service.post)
        dispatch = Dispatch(token, self.service.post, candidate.sure, door.ca)
        self._hands = Hands(candidate, StatusPoll(token, self.service.post, door.ca), dispatch)
        self.service.hands = self._hands
        self._thread = threading.Thread(target=self.service.run, name="headway-orchestrator", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._hands.candidate.start()
        self._hands.poll.start()
        self._server.start()

    @property
    def sure(self) -> bool:
        """It is the primary at this moment, beyond doubt."""
        leader = self.service.leader
        return leader is not None and self._hands.candidate.sure(leader)

    def stop(self) -> None:
        """Leave the line first, so that another orchestrator leads at once."""
        self._hands.candidate.stop()
        self._server.stop()
        self._hands.poll.stop()
        self.service.stop()
        self._thread.join(10)
        self._hands.dispatch.close()
        self._fitting.shutdown(wait=False, cancel_futures=True)
        self._journal.close()
        if self._thread.is_alive():
            aloud(f"{self.service.label} does not end: it is left behind")

    def _post(self, message: Posted) -> None:
        """The door is made before the service, whose name has the door's address."""
        self._inbox[0](message)
