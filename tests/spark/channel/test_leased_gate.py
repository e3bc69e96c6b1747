"""Nobody begins a batch who is not sure of its checkpoint; and nobody waits who is."""

import threading
from typing import Any

from headway.lease.port import Lease
from headway.model.offset import ControlOffset
from headway.spark.channel.leased_gate import LeasedGate
from headway.spark.lease import Leases


class Handmade:
    """A lease whose state a test says."""

    token: int | None = 1
    renew_every_s: float | None = None
    lost: str | None = None

    def __init__(self) -> None:
        self.safe = True

    def sure(self) -> bool:
        return self.safe

    def renew(self) -> None: ...

    def release(self) -> None: ...


class Recorded:
    """A gate that writes down whom it has let through."""

    def __init__(self) -> None:
        self.through: list[tuple[str, int]] = []
        self.came = threading.Event()

    def release(self, query: str, offset: ControlOffset) -> bool:
        self.through.append((query, offset.seq))
        self.came.set()
        return True


class Active:
    isActive = True


def world() -> tuple[Handmade, Leases, Recorded, LeasedGate, list[str]]:
    lease = Handmade()

    class One:
        def acquire(self, checkpoint: str, holder: str) -> Lease:
            return lease

    leases, gate, said = Leases(One()), Recorded(), []  # type: ignore[var-annotated]
    query: Any = Active()
    leases.hold("books", leases.acquire("hdfs://x/y", "books"), query)
    return lease, leases, gate, LeasedGate(gate, leases, said.append), said


def test_who_is_sure_and_who_has_no_checkpoint_go_through_at_once() -> None:
    _, _, gate, leased, said = world()
    assert leased.release("books", ControlOffset(1)) and leased.release("films", ControlOffset(7))
    assert gate.through == [("books", 1), ("films", 7)] and said == []


def test_who_is_not_sure_goes_through_when_it_is_with_the_newest_decision() -> None:
    lease, _, gate, leased, said = world()
    lease.safe = False
    assert leased.release("books", ControlOffset(1)) and leased.release("books", ControlOffset(2))
    assert gate.through == [] and leased.release("films", ControlOffset(7)) and gate.through == [("films", 7)]
    gate.came.clear()
    lease.safe = True
    assert gate.came.wait(60) and gate.through == [("films", 7), ("books", 2)]
    assert said == ["query 'books': its batch waits until its lease is renewed"]


def test_who_has_lost_its_lease_never_goes_through() -> None:
    lease, _, gate, leased, _ = world()
    lease.safe = False
    assert leased.release("books", ControlOffset(1))
    lease.lost = "another"
    for thread in threading.enumerate():
        if thread.name == "headway-unsure":
            thread.join(60)
    assert gate.through == []
