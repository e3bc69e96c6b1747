"""What a user can fix is one line and exit code 2; a bug keeps its traceback."""

from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli import doctor, plugins
from headway.cli.app import app, main
from headway.errors import HeadwayError
from headway.model.check import Check

plugins.add_to(app)  # as `main` does, for what a call may need
COMMANDS = ("demo", "run", "explain", "replay", "bench", "sim", "claims", "doctor", "advise")


def test_help_lists_every_command() -> None:
    shown = CliRunner().invoke(app, ["--help"])
    assert shown.exit_code == 0
    assert all(command in shown.stdout for command in COMMANDS)
    assert CliRunner().invoke(app, []).stdout == shown.stdout


@pytest.mark.parametrize(
    "command",
    [
        *([c] for c in COMMANDS),
        *(["bench", c] for c in ("klink", "cost", "density", "idle", "session", "cold", "coverage", "crash", "report")),
        *(["bench", c] for c in ("kafka", "soak", "silence", "gate", "merge", "traffic", "aion", "chaos", "advice")),
        *(["sim", c] for c in ("paper", "ladder", "calibrate", "slack", "patience", "aion")),
        *(["demo", c] for c in ("traffic", "approximate")),
        *(["checkpoint", c] for c in ("show", "repartition")),
    ],
)
def test_every_command_explains_itself(command: list[str]) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"])
    assert shown.exit_code == 0 and "Usage" in shown.stdout


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith("headway 0.")


starts_spark = partial(pytest.param, marks=pytest.mark.slow)  # a file is read with a session there
PIPELINE = "import headway as hw\n\n@hw.query()\ndef one(rt, spark):\n    return None\n"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nope", "No such command 'nope'"),
        ("demo --nope", "No such option"),
        ("demo --rate many", "--rate"),
        ("demo --queries 0", "queries = 0: expected 1 or more"),
        ("demo --memory lots", "memory = 'lots': expected a size such as 4g"),
        ("demo --out none/deep", "out = 'none/deep': expected a file in a folder that exists"),
        ("run", "Missing argument"),
        ("run none.py", "pipeline = 'none.py': expected a Python file"),
        starts_spark("run empty.py", "expected at least one function marked with @headway.query"),
        starts_spark("run broken.py", "broken.py, line 2: ModuleNotFoundError: No module named 'nothing_like_it'"),
        ("run syntax.py", "line 1 is not Python"),
        ("run one.py --order klnik", "order = 'klnik': expected one of"),
        ("run one.py --order klink:confidence=2", "order.confidence = 2.0: expected a share"),
        ("run one.py --slots none", "slots = 'none': expected a whole number of 1 or more"),
        ("run one.py --seconds -1", "seconds = -1.0: expected 0 or more"),
        ("run one.py --cores 0", "cores = 0: expected 1 or more"),
        ("run one.py --journal no/where.db", "journal = 'no/where.db': expected a file in a folder that exists"),
        ("bench klink --policies klink,foo", "order = 'foo': expected one of"),
        ("bench klink --policies klink,klink", "each once"),
        ("bench klink --policies klink@0", "policies = 'klink@0': expected a gated policy and a number of slots"),
        ("bench klink --policies stock@2", "policies = 'stock@2': expected a gated policy and a number of slots"),
        ("bench cost --queries 0", "queries = 0: expected 1 or more"),
        ("bench density --p99 0", "p99 = 0: expected 1 or more"),
        ("bench density --policies nope", "order = 'nope': expected one of"),
        ("bench idle --times 0", "times = 0: expected 1 or more"),
        ("bench session --rates 1,none", "rates = 'none': expected a whole number"),
        ("bench cold --seconds 0", "seconds = 0: expected 1 or more"),
        ("sim paper --experiments all", "experiments = 'all': expected some of"),
        ("sim paper --orders nope", "orders = 'nope': expected some of"),
        ("sim paper --minutes 1", "minutes = 1: expected 2 or more"),
        ("sim ladder --load 2", "load = '2': expected a share between 0 and 1"),
        ("sim calibrate --ledger none.jsonl", "ledger: expected live runs of other settings"),
        ("bench klink --queries 10,x", "queries = 'x': expected a whole number"),
        ("bench klink --queries 1,2,3 --rate 1,2", "one for each of the 3"),
        ("bench klink --delay fast", "delay = 'fast': expected one of"),
        ("bench klink --seconds 0", "seconds = 0: expected 1 or more"),
        ("bench klink --ledger one.py", "some other file"),
        ("bench coverage --epochs 5", "epochs = 5: expected more than the 20"),
        ("bench crash --times 0", "times = 0: expected 1 or more"),
        ("bench cluster --kills 0", "kills = 0: expected 1 or more"),
        ("bench chaos --faults 0", "faults = 0: expected 1 or more"),
        ("bench chaos --kinds flood", "kinds = 'flood': expected some of driver killed"),
        ("bench report --ledger none", "expected runs of `headway bench klink`, but there are none"),
        ("claims --ledger one.py", "some other file"),
        ("explain books", "no journal in"),
        ("explain books --journal none.db", "journal = 'none.db': expected a journal file"),
        ("explain books --journal one.py", "some other file"),
        ("explain books --at noon", "at = 'noon': expected HH:MM:SS"),
        ("replay none.db", "journal = 'none.db': expected a journal file"),
        ("replay none.db --policy stock", "policy = 'stock': expected a policy with a gate"),
    ],
)
def test_bad_input_is_one_line(
    line: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("one.py").write_text(PIPELINE)
    Path("empty.py").write_text("x = 1\ny = 2\n")
    Path("broken.py").write_text("import headway as hw\nimport nothing_like_it\n")
    Path("syntax.py").write_text("def one(:\n")
    assert main(line.split()) == 2
    told = capsys.readouterr().err.splitlines()
    assert told[-1].startswith("headway: ") and says in told[-1]
    assert "Traceback" not in "".join(told)


def test_ctrl_c_is_130_and_a_bug_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> Check:
        raise KeyboardInterrupt

    def buggy() -> Check:
        raise ZeroDivisionError

    monkeypatch.setattr(doctor, "CHECKS", [interrupted])
    assert main(["doctor"]) == 130
    monkeypatch.setattr(doctor, "CHECKS", [buggy])
    with pytest.raises(ZeroDivisionError):
        main(["doctor"])


def test_a_message_of_several_lines_becomes_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def long() -> Check:
        raise HeadwayError("first\n  second")

    monkeypatch.setattr(doctor, "CHECKS", [long])
    assert main(["doctor"]) == 2
    assert capsys.readouterr().err == "headway: first second\n"
