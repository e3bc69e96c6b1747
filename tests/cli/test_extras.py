"""What lacks an extra says so in one line before anything is begun, and the shell completes commands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headway.cli.app import main
from headway.cli.extras import FLEET, WAN, require
from headway.errors import HeadwayError

ORCHESTRATOR = ["orchestrator", "--zookeeper", "z:1", "--checkpoints", "c", "--token-file", "none"]


@pytest.mark.parametrize(
    ("words", "lacking", "extra"),
    [
        (["node", "--name", "n"], "fastapi", "fleet"),
        (["node", "--name", "n"], "kazoo", "fleet"),
        (ORCHESTRATOR, "httpx", "fleet"),
        (["fleet", "up"], "httpx", "fleet"),
        (["fleet", "status"], "httpx", "fleet"),
        (["wan", "run", "job.py"], "confluent_kafka", "wan"),
    ],
    ids=lambda given: given[0] if isinstance(given, list) else given,
)
def test_a_command_without_its_extra_begins_nothing(
    words: list[str], lacking: str, extra: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel in a fresh environment: a node started a JVM first, and then showed a traceback."""
    monkeypatch.setitem(sys.modules, lacking, None)
    monkeypatch.setattr(subprocess, "Popen", None)
    assert main(words) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.endswith(
        f"needs the package {lacking}, which is not installed: pip install 'headway[{extra}]' brings it\n"
    )


def test_the_first_that_is_missing_is_named_and_what_is_there_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wfdb", raising=False)
    require("this", "lab", ("typer", "wfdb"))
    assert "wfdb" not in sys.modules and {*FLEET} < {*WAN}
    with pytest.raises(HeadwayError, match="`headway this` needs the package no_such_thing, which is not installed"):
        require("this", "lab", ("typer", "no_such_thing", "nor_this"))


@pytest.mark.parametrize(
    ("typed", "offered"), [("headway da", ("dashboard",)), ("headway fleet s", ("status", "stop", "submit"))], ids=str
)
def test_the_shell_completes_commands(typed: str, offered: tuple[str, ...], tmp_path: Path) -> None:
    """As bash asks: with the words so far, and the number of the one that is typed."""
    asked = {"_HEADWAY_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    code = "import sys; from headway.cli.app import main; sys.exit(main([]))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert tuple(sorted(done.stdout.split())) == offered, done.stderr
