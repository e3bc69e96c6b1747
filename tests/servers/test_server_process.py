"""A server process of ours, whatever it serves."""

import sys
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.servers import process
from headway.servers.process import ServerProcess

LISTENS = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(300)"


def test_it_is_waited_for_found_again_and_ended(tmp_path: Path) -> None:
    place, port = process.place_and_port("test", tmp_path / "data", 0)
    running = process.launched([sys.executable, "-c", LISTENS, str(port)], place, ends_with_parent=True)
    server = ServerProcess(port, running.pid, str(place), process.born(running))
    process.wait_until_up("test", server, running)
    server.save(tmp_path / "note.json")
    assert ServerProcess.load(tmp_path / "note.json") == server and server.alive and process.taken(port)
    server.stop()
    assert not server.alive and not place.exists()
    server.stop()


def test_one_that_ends_at_once_is_told_with_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "raise SystemExit('no room\\n\\tat nowhere')"]
    running = process.launched(command, tmp_path, ends_with_parent=True)
    server = ServerProcess(process.free_port(), running.pid, str(tmp_path), process.born(running))
    with pytest.raises(HeadwayError, match="test: the server has ended at once: no room"):
        process.wait_until_up("test", server, running)
