"""What a node waits for: a query that comes to its gate, and a good moment to take one away from it."""

import time
from typing import Any

from headway.errors import HeadwayError
from headway.fleet.node.wire import NodeCommand
from headway.spark.fleet.life import wall_now
from headway.spark.runtime import Runtime

GATE_S = 30.0  # for a query that was started to come to its gate
LOOK_S = 0.003


def await_gate(rt: Runtime, name: str, query: Any) -> None:
    """A query that is about to fail says so here. One whose first batch runs on from the log is under way."""
    end = time.monotonic() + GATE_S
    while time.monotonic() < end:
        seen = rt.status().query(name)
        if seen is not None and seen.over:
            raise HeadwayError(f"query {name!r} has failed: {seen.error}")
        if seen is not None and seen.state not in ("starting", "restarting"):
            return
        if query.status["isDataAvailable"]:  # a batch that was begun before is not asked for at the gate
            return
        time.sleep(LOOK_S)
    raise HeadwayError(f"query {name!r} has not come to its gate within {GATE_S:g} s")


def await_moment(rt: Runtime, command: NodeCommand) -> None:
    """Right after a batch, if nothing is wanted of the query for a while: then it is not missed."""
    end = time.monotonic() + min(command.patience_ms, command.timeout_ms) / 1000
    while command.slack_ms > 0 and time.monotonic() < end:
        seen = rt.status().query(command.query)
        if seen is None or seen.over or seen.view is None:
            return
        if seen.state == "at the gate" and (seen.view.due is None or seen.view.due - wall_now() >= command.slack_ms):
            return
        time.sleep(LOOK_S)
