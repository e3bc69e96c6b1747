"""What is broken on purpose inside a running driver: the controller fails, a query's line is cut."""

from collections.abc import Collection
from typing import Any

from headway.model.message import Look


class Fault(Exception):
    """Raised on purpose."""


def fail_controller(rt: Any) -> None:
    """The next message that it takes in raises."""
    rt.plane.post(Look(_raise))


def cut_lines(rt: Any, names: Collection[str]) -> None:
    """The queries of these names lose their connection to the gate; those that have none lose nothing."""
    gate = rt.plane.gate
    with gate._changed:
        connections = [line.connection for line in gate._lines if line.spec.name in names and line.connection is not None]
    for connection in connections:
        connection.cut()


def _raise(_: object) -> None:
    raise Fault("on purpose")
