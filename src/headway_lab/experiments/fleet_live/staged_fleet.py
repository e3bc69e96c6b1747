"""A fleet on trial: its processes, the policy that decides, and where its queries are."""

import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from headway.cli import fleet_up
from headway.cli.fleet_up import FleetSize
from headway.errors import HeadwayError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.orchestrator.wire import MoveWanted, SubmitWanted
from headway_lab.experiments.fleet_live.watch import wait_until

SERVE_S, MOVE_S = 120.0, 60.0
KEEPS_STILL = "never-move"
# These JVMs live for minutes: what the second compiler finds out, it finds out too late, and on the node's own share.
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class StagedFleet:
    """What `headway fleet up` starts, under one policy after another; nodes and queries go on meanwhile."""

    def __init__(self, nodes: int, say: Callable[[str], None]) -> None:
        os.environ.setdefault("SPARK_SUBMIT_OPTS", BRIEF)
        self._size = FleetSize(nodes, policy=KEEPS_STILL)
        self.nodes = fleet_up.node_names(self._size)
        self.started = fleet_up.start_alone(self._size, say)

    @property
    def folder(self) -> Path:
        return Path(self.started.folder)

    def end(self) -> None:
        fleet_up.end(self.started)

    def decide_by(self, policy: str) -> None:
        """Orchestrators with this policy, from when this returns on."""
        if policy != self._size.policy:
            self._size = replace(self._size, policy=policy)
            self.started = fleet_up.decide_anew(self.started, self._size)

    def submit(self, text: str, places: Mapping[str, str]) -> None:
        """All queries of a pipeline file, each on its node; returns when all of them serve."""
        with self._client() as client:
            for query, node in places.items():
                receipt = client.ask("submit", SubmitWanted(secrets.token_hex(8), query, "counted.py", text, node))
                if not receipt.accepted:
                    raise HeadwayError(receipt.line)
            self._await(lambda: _serving(client) == dict(places), SERVE_S, "all queries serve")

    def arrange(self, places: Mapping[str, str]) -> None:
        """Every query where it is wanted, by moves. Only where nothing moves by itself."""
        with self._client() as client:
            self._await(lambda: arranged(client, places), MOVE_S, "all queries are where they are wanted")

    def _client(self) -> FleetClient:
        return FleetClient(self.started.orchestrators, self.started.token)

    def _await(self, true: Callable[[], bool], seconds: float, what: str) -> None:
        if not wait_until(true, seconds):
            raise HeadwayError(f"not within {seconds:g} s: {what}")


def arranged(client: FleetClient, places: Mapping[str, str]) -> bool:
    """Whether every query is where it is wanted; moves are asked for where one is not. One that is being moved still, since
    the policy of the arm before wanted it, is asked for when that has ended: to be called again and again.
    """
    serving = _serving(client)
    for query, node in serving.items():
        if places[query] != node:
            client.ask("move", MoveWanted(secrets.token_hex(8), query, places[query]))
    return serving == dict(places)


def _serving(client: FleetClient) -> dict[str, str]:
    """Where each query is, of those that serve and are not being moved."""
    found: Sequence[tuple[str, str | None]] = [
        (one.name, one.node) for one in client.standing().queries if one.phase == "serving" and one.move is None
    ]
    return {name: node for name, node in found if node is not None}
