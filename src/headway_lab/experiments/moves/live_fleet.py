"""A real fleet on this machine, and what is asked of it: the fleet of `headway fleet up`, with a note of its own."""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from headway.cli import fleet_up
from headway.cli.fleet_up import FleetSize, LocalFleet
from headway.errors import HeadwayError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.moves.contract import STOP
from headway.fleet.orchestrator.wire import (
    AskReceipt,
    MoveProgress,
    MoveWanted,
    QueryStanding,
    StopWanted,
    SubmitWanted,
    UpgradeWanted,
)

LOOK_S = 0.02
LIMIT_S = 240.0  # for whatever is waited for, on a machine that others use, too
STATE = "XDG_STATE_HOME"


class FleetOnTrial:
    """What an operator would do with it. Every answer is waited for."""

    def __init__(self, local: LocalFleet, client: FleetClient) -> None:
        self.local, self.client = local, client

    def submit(self, query: str, text: str, node: str) -> None:
        self._accepted(self.client.ask("submit", SubmitWanted(secrets.token_hex(8), query, "moving.py", text, node)))

    def move(self, query: str, node: str) -> MoveProgress:
        wanted = MoveWanted(secrets.token_hex(8), query, node)
        self._accepted(self.client.ask("move", wanted))
        return self._ended(query, wanted.id)

    def upgrade(self, query: str, text: str) -> MoveProgress:
        wanted = UpgradeWanted(secrets.token_hex(8), query, "moving.py", text)
        self._accepted(self.client.ask("upgrade", wanted))
        return self._ended(query, wanted.id)

    def stop(self, query: str) -> MoveProgress:
        self._accepted(self.client.ask("stop", StopWanted(secrets.token_hex(8), query)))
        return self._ended(query, STOP)

    def query(self, name: str) -> QueryStanding | None:
        return next((one for one in self.client.standing().queries if one.name == name), None)

    def node_of(self, query: str) -> str:
        """Where it serves; waits until it does."""
        found: list[str] = []

        def serves() -> bool:
            seen = self.query(query)
            found[:] = [seen.node] if seen is not None and seen.phase == "serving" and seen.node is not None else []
            return bool(found)

        self.until(serves, f"{query} serves")
        return found[0]

    def until(self, true: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + LIMIT_S
        while not true():
            if time.monotonic() > end:
                raise HeadwayError(f"not within {LIMIT_S:g} s: {what}; {self._trouble()}")
            time.sleep(LOOK_S)

    def journals(self, kind: str) -> list[Path]:
        """Of its nodes (n), or of its orchestrators (o)."""
        return [Path(one.folder, "journal.db") for name, one in self.local.members.items() if name.startswith(kind)]

    def _ended(self, query: str, id: str) -> MoveProgress:
        found = [MoveProgress("under way", "")]

        def over() -> bool:
            told = self.client.progress(query, id)
            if told.outage_ms is None and found[0].outage_ms is not None:  # a home that is reached may know of none
                told = MoveProgress(told.state, told.line, found[0].outage_ms, found[0].parts_ms)
            found[0] = told
            return told.state != "under way"

        self.until(over, f"{query}: the end of {id}")
        return found[0]

    def _trouble(self) -> str:
        told = [f"{one.name} is {one.phase}: {one.error or one.move or one.ended}" for one in self.client.standing().queries]
        return "; ".join(told) or "no query is known"

    @staticmethod
    def _accepted(receipt: AskReceipt) -> None:
        if not receipt.accepted:
            raise HeadwayError(receipt.line)


@contextmanager
def fleet_on_trial(work: Path, nodes: int, memory: str, say: Callable[[str], None]) -> Iterator[FleetOnTrial]:
    """Nothing of it is left behind, also if this process is killed."""
    before = os.environ.get(STATE)
    os.environ[STATE] = str(work / "state")  # another fleet on this machine has a note of its own
    try:
        local = fleet_up.start(FleetSize(nodes, memory, "never-move", folder=work / "fleet"), say)
        try:
            with FleetClient(local.orchestrators, local.token) as client:
                yield FleetOnTrial(local, client)
        finally:
            say("ending the fleet")
            fleet_up.end(local, keep=True)
    finally:
        if before is None:
            del os.environ[STATE]
        else:
            os.environ[STATE] = before
