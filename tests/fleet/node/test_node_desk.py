"""A command is done once, however often it is asked; commands about one query do not cross."""

import threading

import pytest

from fleet.node.memory_host import AT, MemoryHost
from headway.fleet.node.desk import KEPT, CommandDesk, RequestReused
from headway.fleet.node.host import NotHosted
from headway.fleet.node.wire import NodeCommand

SAID: list[str] = []


def desk(host: MemoryHost) -> CommandDesk:
    SAID.clear()
    return CommandDesk(host, lambda: AT, SAID.append)


def test_a_request_that_comes_again_gets_the_same_receipt_and_changes_nothing() -> None:
    host = MemoryHost()
    at = desk(host)
    prepared = NodeCommand("r1", "prepare", "counts", 1)
    first = at.take(prepared)
    at.take(NodeCommand("r2", "abandon", "counts", 1))
    assert at.take(prepared) is first and host.obeyed == ["r1", "r2"] and host.queries == {}


def test_an_id_that_was_another_command_is_refused() -> None:
    host = MemoryHost()
    at = desk(host)
    at.take(NodeCommand("r1", "prepare", "counts", 1))
    with pytest.raises(RequestReused, match="request = 'r1': expected a new id"):
        at.take(NodeCommand("r1", "abandon", "counts", 1))
    assert host.queries.keys() == {"counts"}


def test_a_refusal_is_an_answer_that_is_kept() -> None:
    host = MemoryHost()
    at = desk(host)
    at.take(NodeCommand("r1", "prepare", "counts", 2))
    late = at.take(NodeCommand("r2", "prepare", "counts", 1))
    assert not late.done and late.because == "epoch = 1: expected one above 2"
    assert at.take(NodeCommand("r2", "prepare", "counts", 1)) is late
    assert SAID == ["prepare of query 'counts', epoch 1, is refused: epoch = 1: expected one above 2"]


def test_a_mistake_of_ours_is_a_refusal_of_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    receipt = desk(MemoryHost(frozenset({"broken"}))).take(NodeCommand("r1", "prepare", "broken", 1))
    assert not receipt.done and receipt.because == "ZeroDivisionError: a mistake of ours"
    assert "Traceback" in capfd.readouterr().err


def test_a_query_that_is_not_here_may_be_asked_for_again() -> None:
    host = MemoryHost()
    at = desk(host)
    stop = NodeCommand("r1", "stop", "counts", 1)
    with pytest.raises(NotHosted):
        at.take(stop)
    at.take(NodeCommand("r2", "prepare", "counts", 1))
    assert at.take(stop).done


def test_who_asks_again_while_it_is_being_done_waits_for_the_one_receipt() -> None:
    host = MemoryHost()
    at = desk(host)
    at.take(NodeCommand("r1", "prepare", "counts", 1))
    at.take(NodeCommand("r2", "start", "counts", 1))
    host.gate.clear()
    drain, receipts = NodeCommand("r3", "drain", "counts", 1), []
    threads = [threading.Thread(target=lambda: receipts.append(at.take(drain))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert host.draining.wait(30)
    assert at.take(NodeCommand("r4", "prepare", "sums", 1)).done  # another query need not wait
    host.gate.set()
    for thread in threads:
        thread.join(30)
    assert len(receipts) == 4 and all(one is receipts[0] for one in receipts) and host.obeyed.count("r3") == 1


def test_commands_about_one_query_are_done_one_after_the_other() -> None:
    host = MemoryHost()
    at = desk(host)
    at.take(NodeCommand("r1", "prepare", "counts", 1))
    at.take(NodeCommand("r2", "start", "counts", 1))
    host.gate.clear()
    drains = threading.Thread(target=at.take, args=(NodeCommand("r3", "drain", "counts", 1),))
    drains.start()
    assert host.draining.wait(30)
    stops = threading.Thread(target=at.take, args=(NodeCommand("r4", "stop", "counts", 1),))
    stops.start()
    assert "r4" not in host.obeyed
    host.gate.set()
    drains.join(30)
    stops.join(30)
    assert host.obeyed[-2:] == ["r3", "r4"] and host.queries == {}


def test_old_receipts_are_forgotten() -> None:
    host = MemoryHost()
    at = desk(host)
    at.take(NodeCommand("first", "prepare", "counts", 1))
    for n in range(KEPT):
        at.take(NodeCommand(f"n{n}", "prepare", "counts", 2 + n))
    assert len(at._requests) <= KEPT + 1
    assert not at.take(NodeCommand("first", "prepare", "counts", 1)).done


def test_a_command_of_an_older_record_than_was_obeyed_does_nothing_and_says_by_which() -> None:
    host = MemoryHost()
    at = desk(host)
    at.take(NodeCommand("r1", "prepare", "counts", 1, version=7))
    at.take(NodeCommand("r2", "start", "counts", 1, version=9))
    late = at.take(NodeCommand("r3", "drain", "counts", 1, version=8))
    assert not late.done and late.outdated_by == 9 and host.queries["counts"].state == "at the gate"
    assert at.take(NodeCommand("r4", "prepare", "sums", 1, version=1)).done  # another query has versions of its own
    assert at.take(NodeCommand("r5", "drain", "counts", 1, version=9)).done
