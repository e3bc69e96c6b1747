"""What a move calls for, in the words of a node, and a node's answers in the words of a move."""

from dataclasses import replace

import pytest

from headway.fleet.moves import messages as m
from headway.fleet.moves.moment import DrainMoment
from headway.fleet.moves.record import FleetIncarnation, MoveRecord, Phase, QueryRecord, Revision, Step
from headway.fleet.moves.wanted import instructions
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.wire import CommandReceipt, HostedQuery, NodeStatus
from headway.fleet.orchestrator.translate import (
    QueryContext,
    command_of,
    receipt_of,
    receipts_in,
    refusal_of,
    report_of,
)
from headway.model.time import WallMs

FIRST, NEXT = Revision("/p/a.py"), Revision("/p/b.py", 2)
HERE = FleetIncarnation(4, "n1", "q/epoch-4", FIRST)
MOVE = MoveRecord("m1", "n1", "n2", NEXT, "why not", WallMs(0))
RECORD = QueryRecord("q", FIRST, Phase.SERVING, HERE, 4, ("q/epoch-4",), begun=True, move=MOVE)
CONTEXT = QueryContext.of(RECORD, "file:///all")
AT = WallMs(1_000)


def answer(done: bool, because: str = "so", outdated_by: int | None = None) -> CommandReceipt:
    return CommandReceipt("r", "prepare", "q", 4, done, because, AT, outdated_by=outdated_by)


def told(record: QueryRecord, version: int = 7) -> m.Instruction:
    """The only one that this record calls for."""
    ((_, instruction),) = instructions(record, version)
    return instruction


def test_a_move_prepares_the_next_incarnation_and_copies_from_all_before_it() -> None:
    command = command_of(told(RECORD), "r1", CONTEXT)
    assert (command.action, command.epoch, command.version, command.file) == ("prepare", 5, 7, "/p/b.py")
    assert (command.folder, command.origins) == ("file:///all/q/epoch-5", ("file:///all/q/epoch-4",))


def test_what_is_taken_over_is_what_was_prepared() -> None:
    there, forward = FleetIncarnation(5, "n2", "q/epoch-5", NEXT), replace(MOVE, step=Step.FORWARD)
    taking = replace(RECORD, phase=Phase.COPYING, here=there, top=5, move=forward)
    prepared = command_of(told(RECORD), "r1", CONTEXT)
    command = command_of(told(taking), "r2", QueryContext.of(taking, "file:///all"))
    same = [(c.epoch, c.folder, c.file, c.origins) for c in (prepared, command)]
    assert same[0] == same[1] and command.action == "start" and command.force
    new = command_of(told(replace(taking, begun=False)), "r3", QueryContext.of(taking, "file:///all"))
    assert new == replace(command, request="r3", action="take", experience=None)


@pytest.mark.parametrize(("at_once", "limit"), [(False, 60_000), (True, 0)])
def test_a_drain_breaks_a_batch_off_only_when_it_must(at_once: bool, limit: int) -> None:
    command = command_of(m.DrainQuery("q", 7, "m1", 4, 5, at_once), "r1", CONTEXT)
    assert (command.action, command.epoch, command.next_epoch, command.timeout_ms) == ("drain", 4, 5, limit)
    assert (command.slack_ms > 0) == (not at_once)
    patient = replace(CONTEXT, moment=DrainMoment(slack_ms=120, patience_ms=900))
    learnt = command_of(m.DrainQuery("q", 7, "m1", 4, 5, at_once), "r1", patient)
    assert (learnt.slack_ms, learnt.patience_ms) == (0 if at_once else 120, 900)


def test_what_was_told_of_the_drain_goes_to_who_takes_over_and_no_further() -> None:
    drained = replace(answer(True), action="drain", batch=17)
    context = replace(CONTEXT, drained=drained)
    assert command_of(m.TakeOver("q", 7, 5, NEXT, (), "q/epoch-5", False), "r1", context).batch == 17
    assert command_of(m.TakeOver("q", 8, 6, NEXT, (), "q/epoch-6", False), "r2", context).batch is None


def test_folders_are_deleted_that_are_older_than_any_epoch_to_come() -> None:
    command = command_of(m.DeleteFolders("q", 7, ("q/epoch-2", "q/epoch-3")), "r1", CONTEXT)
    assert command.action == "clean" and command.epoch == 5
    assert command.origins == ("file:///all/q/epoch-2", "file:///all/q/epoch-3")


PREPARE, DRAIN, RESUME = m.Prepare("q", 7, "m1", NEXT), m.DrainQuery("q", 7, "m1", 4, 5), m.ResumeQuery("q", 7, "m1", 4)
TAKE, START, END = m.TakeOver("q", 7, 5, NEXT, (), "q/epoch-5", False), m.StartQuery("q", 7, 5, 1), m.EndQuery("q", 7, 4)
GO = replace(TAKE, commits=1)


@pytest.mark.parametrize(
    ("instruction", "done", "refused"),
    [
        (PREPARE, m.Prepared("q", "m1"), m.CannotRun("q", "m1", "so")),
        (DRAIN, m.Drained("q", "m1", 4), None),
        (RESUME, m.WentOn("q", "m1", 4), m.Drained("q", "m1", 4)),
        (TAKE, m.Copied("q", 5), m.RunFailed("q", 5, "so")),
        (GO, m.Running("q", 5, 0), m.RunFailed("q", 5, "so")),
        (START, m.Running("q", 5, 0), m.RunFailed("q", 5, "so")),
        (END, m.RunFailed("q", 4, "it was told to end"), None),
        (m.DeleteFolders("q", 7, ("f",)), m.FoldersDeleted("q", ("f",)), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_answer_is_what_it_means_for_the_move(
    instruction: m.Instruction, done: m.Receipt, refused: m.Receipt | None
) -> None:
    assert receipt_of(instruction, answer(True)) == done
    assert receipt_of(instruction, answer(False)) == refused
    assert receipt_of(instruction, answer(False, outdated_by=9)) == m.Outdated("q", 9)


@pytest.mark.parametrize(
    ("instruction", "code", "meant"),
    [
        (PREPARE, 401, m.CannotRun("q", "m1", "n2 does not know our token")),
        (PREPARE, 409, m.CannotRun("q", "m1", "line")),
        (TAKE, 404, m.RunFailed("q", 5, "line")),
        (GO, 404, m.RunFailed("q", 5, "line")),
        (START, 401, None),
        (DRAIN, 404, m.RunFailed("q", 4, "n2 does not know it")),
        (DRAIN, 409, None),
        (END, 404, m.RunFailed("q", 4, "n2 does not know it")),
        (m.DeleteFolders("q", 7, ("f",)), 404, None),
    ],
)
def test_so_is_a_refusal_to_listen(instruction: m.Instruction, code: int, meant: m.Receipt | None) -> None:
    assert refusal_of(instruction, "n2", code, "line") == meant


def test_a_status_is_a_report_of_what_runs_and_tells_of_commits_and_of_failures() -> None:
    queries = (
        HostedQuery("a", 3, "at the gate", AT, commits=5), HostedQuery("b", 2, "failed", AT, error="a bad batch"),
        HostedQuery("c", 9, "prepared", AT), HostedQuery("d", 1, "starting", AT), HostedQuery("e", 4, "drained", AT),
    )  # fmt: skip
    status = NodeStatus("n1", "run", "0", 12, AT, MachineGauge().read(), queries)
    report = report_of(status, 2)
    assert (report.boot, report.number, set(report.hosted)) == (2, 12, {"a", "d"}) and report.hosted["a"].commits == 5
    assert list(receipts_in(status)) == [m.Running("a", 3, 5), m.RunFailed("b", 2, "a bad batch")]
