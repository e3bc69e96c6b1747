"""The tutorial, followed word by word: its file, its commands, and what it says will be there."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from doc_blocks import of_page
from headway.cli.app import main

PAGE = "docs/tutorial.md"
PATIENCE_S = 180


@pytest.mark.spark
def test_two_queries_and_a_running_dashboard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = next(block.text for block in of_page(PAGE) if "@hw.query()" in block.text)
    (tmp_path / "tutorial.py").write_text(code)
    run, explain, replay = (words for block in of_page(PAGE, "") for words in block.commands() if words[1] in COMMANDS)
    with running(tmp_path, ["0" if word == "8787" else word for word in run[1:]]) as (process, lines):
        address = next(line.rpartition(" ")[2] for line in said(lines) if line.startswith("dashboard at http"))
        rows = until_windows(address)
        assert {row["name"] for row in rows} == {"sensors", "kinds"}
        process.send_signal(signal.SIGINT)  # Ctrl-C
        process.wait(60)
    for words in (explain, replay):
        arguments = [str(tmp_path / word) if word.endswith(".db") else word for word in words[1:]]
        assert main(arguments) == 0
        assert "sensors at" in capsys.readouterr().out or words is replay


COMMANDS = ("run", "explain", "replay")


class running:
    """`headway` as a process, with what it says line by line."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "headway", *words, "--memory", "1g"], cwd=folder, env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self.lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def __enter__(self) -> "tuple[subprocess.Popen[str], Queue[str]]":
        return self.process, self.lines

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def said(lines: "Queue[str]") -> Iterator[str]:
    """What it says, as it does; three minutes of silence are the end."""
    while True:
        yield lines.get(timeout=PATIENCE_S)


def until_windows(address: str) -> list[dict[str, object]]:
    """The rows of the page, once both queries have put a window out."""
    end = time.monotonic() + PATIENCE_S
    while True:
        with urllib.request.urlopen(f"{address}api/overview", timeout=20) as answer:
            rows: list[dict[str, object]] = json.loads(answer.read())["rows"]
        if len(rows) == 2 and all(row["windows"] for row in rows):
            return rows
        assert time.monotonic() < end, rows
        time.sleep(0.2)
