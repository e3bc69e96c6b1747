"""Faults of a live fleet: the sinks by which they are judged, and the network that one node has of its own."""

import os
import socket
import sqlite3
import subprocess
import threading
from contextlib import closing
from pathlib import Path

import pytest

from headway import pipeline
from headway.errors import SettingError
from headway.fleet.epochs import FencedOff, SinkEpoch
from headway_lab.experiments.fleet_faults.command import figures_of, fleet_faults, in_words
from headway_lab.experiments.fleet_faults.faults import FAULTS
from headway_lab.experiments.fleet_faults.fenced_sink import FencedSink, FencedSinks
from headway_lab.experiments.fleet_faults.namespace import TcpRelay, namespace
from headway_lab.experiments.fleet_faults.queries import FleetFaultPlan
from headway_lab.experiments.fleet_faults.run import LiveFault, SinkLedger
from headway_lab.experiments.fleet_faults.scene import until
from headway_lab.harness.claims import load
from headway_lab.harness.file_sink import SinkTally

PLAN = FleetFaultPlan(seed=3, epoch_ms=1_700_000_000_000, queries=2, rate=50)
UNTIL = PLAN.epoch_ms + 6_000


class Rows(list[tuple[int, int, int]]):
    """A batch, as a sink sees it."""

    def collect(self) -> "Rows":
        return self


def sinks_in(work: Path) -> FencedSinks:
    made = FencedSinks(work, PLAN.names)
    made.make()
    return made


def put(work: Path, name: str, batch: int, rows: Rows, epoch: int) -> None:
    sink = FencedSink(work, name)
    stored = SinkEpoch(name, epoch, (sink.connect,))
    with closing(sink.connect()) as table:
        stored.make_table(table)
    sink.writer(stored)(rows, batch)


def put_truth(work: Path, epoch: int) -> None:
    for name, stream in PLAN.streams().items():
        true = [(end, key, n) for (end, key), n in stream.truth(UNTIL).items() if end <= UNTIL]
        put(work, name, epoch, Rows(true), epoch)


def test_a_pipeline_file_has_every_query_of_the_plan(tmp_path: Path) -> None:
    file = tmp_path / "faults.py"
    file.write_text(PLAN.pipeline(tmp_path))
    assert pipeline.declared(file) == PLAN.names == ["views_1", "views_2"]


def test_the_truth_passes_and_what_is_lost_or_doubled_is_counted(tmp_path: Path) -> None:
    sinks = sinks_in(tmp_path)
    put_truth(tmp_path, 1)
    ledger = SinkLedger(sinks, PLAN)
    first, zombies, refused = ledger.since()
    assert (first.wrong, zombies, refused) == (0, 0, 0) and first.windows >= 10
    assert min(sinks.newest().values()) == UNTIL
    with closing(FencedSink(tmp_path, "views_1").connect()) as table, table:
        end, key, n = table.execute("select end_ms, key, n from panes limit 1").fetchone()
        table.execute("insert into panes values (9, ?, ?, ?)", (end, key, n))
        end, key = table.execute("select end_ms, key from panes order by end_ms desc, key limit 1").fetchone()
        table.execute("delete from panes where end_ms = ? and key = ?", (end, key))
    assert ledger.since()[0] == SinkTally(missing=1, twice=1), "only what has changed since"


def test_a_batch_of_an_older_epoch_is_refused_and_one_that_comes_in_is_found(tmp_path: Path) -> None:
    sinks = sinks_in(tmp_path)
    put(tmp_path, "views_1", 0, Rows([(1_000, 1, 1)]), 1)
    put(tmp_path, "views_1", 1, Rows([(2_000, 1, 1)]), 2)
    with pytest.raises(FencedOff, match="epoch 1 is over, 2 has the sink"):
        put(tmp_path, "views_1", 1, Rows([(2_000, 1, 9)]), 1)
    assert sinks.refused() == 1 and sinks.zombie_writes() == 0
    assert sinks.rows()["views_1"] == [((1_000, 1), 1), ((2_000, 1), 1)]
    with closing(sqlite3.connect(tmp_path / "sink" / "views_1.db")) as table, table:
        table.execute("insert into history values (2, 1)")
    assert sinks.zombie_writes() == 1


def test_a_batch_is_held_before_its_sink_until_it_is_let_go(tmp_path: Path) -> None:
    sinks, pid = sinks_in(tmp_path), os.getpid()
    sinks.hold(pid)
    writer = threading.Thread(target=put, args=(tmp_path, "views_1", 0, Rows([(1_000, 1, 1)]), 1))
    writer.start()
    until(lambda: sinks.held(pid), 20, "it does not come to its sink")
    assert sinks.newest()["views_1"] == 0
    sinks.let_go(pid)
    writer.join(20)
    assert sinks.newest()["views_1"] == 1_000


def test_figures_count_what_was_stuck_and_what_was_not_as_promised() -> None:
    well = LiveFault("kill-primary", "at rest", 1.5, SinkTally(4, 40), 0, 0, 3.25)
    stuck = LiveFault(
        "kill-primary", "drained", None, SinkTally(missing=2), 1, 3, None, "", "a query puts out no more windows"
    )
    figures = figures_of([well, stuck])
    assert (figures["wrong"], figures["stuck"], figures["zombie_writes"], figures["refused"]) == (4, 1, 1, 3)
    assert (figures["recovery_s"], figures["worst_s"], figures["takeover_worst_s"]) == (1.5, 1.5, 3.25)
    assert in_words(well).startswith("kill-primary (at rest), on again after 1.5 s, a primary after 3.2 s")
    assert "stuck" in in_words(stuck) and "4 WRONG" in in_words(stuck)


def test_the_claim_names_every_fault_that_there_is() -> None:
    (claim,) = [claim for claim in load() if claim.id == "F1"]
    assert {at["fault"] for at in claim.at} == set(FAULTS)


def test_a_fault_that_nobody_knows_is_refused_before_anything_starts() -> None:
    with pytest.raises(SettingError, match="faults = 'rain': expected some of kill-node, kill-primary"):
        fleet_faults(faults="kill-node, rain")


def test_a_relay_hands_on_both_ways_until_one_side_ends() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        relay = TcpRelay("127.0.0.1", server.getsockname()[1])
        with socket.create_connection(("127.0.0.1", relay.port), timeout=10) as caller:
            there, _ = server.accept()
            caller.sendall(b"ruok")
            assert there.recv(16) == b"ruok"
            there.sendall(b"imok")
            assert caller.recv(16) == b"imok"
            there.close()
            assert caller.recv(16) == b""


def test_a_wire_of_a_namespace_is_cut_and_mended_and_goes_with_it(tmp_path: Path) -> None:
    with namespace(tmp_path) as apart:
        if apart is None:
            pytest.skip("this user may have no network of its own: then `bench fleet-faults` leaves the cut out")
        with socket.create_server((apart.outside, 0)) as server:
            port = server.getsockname()[1]
            words = [*apart.enter, "bash", "-c", f"echo hello > /dev/tcp/{apart.outside}/{port}"]
            assert spoken(server, words) == b"hello\n"
            apart.cut()
            assert subprocess.run(words, capture_output=True, timeout=30).returncode != 0
            apart.mend()
            assert spoken(server, words) == b"hello\n"
        outside = apart.outside
    with pytest.raises(OSError):
        socket.create_server((outside, 0))


def spoken(server: socket.socket, words: list[str]) -> bytes:
    """What such a command says to the server."""
    server.settimeout(30)
    caller = threading.Thread(target=subprocess.run, args=(words,))
    caller.start()
    link, _ = server.accept()
    with link:
        said = link.recv(64)
    caller.join(30)
    return said
