"""`headway node`: what cannot work is refused before Spark starts; and how it ends when it cannot work any more."""

from pathlib import Path

import psutil
import pytest
import typer

from headway.cli.node import node
from headway.errors import HeadwayError
from spark.fleet.moving import NodeProcess

app = typer.Typer(add_completion=False)
app.command("node")(node)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--host 0.0.0.0", "token = None: expected a token, since 0.0.0.0 is not loopback: --token-file FILE"),
        ("--token-file nowhere", "token-file = 'nowhere': expected a file with a token in it: FileNotFoundError"),
        ("--token-file two-words", "token-file = 'two-words': expected a file with one word in it, the token"),
        ("--token-file short", "token = '5 letters': expected 16 or more letters, ASCII, no blanks"),
        ("--cert c.pem", "cert = 'c.pem': expected a certificate and its key: --cert FILE --key FILE"),
        ("--order nobody", "order = 'nobody': expected one of"),
        ("--memory much", "memory = 'much': expected a size such as 4g or 1500m"),
        ("--master local[none]", "master = 'none': expected a whole number of 1 or more"),
        ("--conf nothing", "conf = 'nothing': expected KEY=VALUE"),
        ("--bandwidth 0", "bandwidth = 0.0: expected 1 or more"),
        ("--journal nowhere/j.db", "journal = 'nowhere/j.db': expected a file in a folder that exists"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(
    words: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two-words").write_text("correct horse battery staple\n")
    (tmp_path / "short").write_text("short\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(HeadwayError) as caught:
        app(args=["--name", "n1", *words.split()], standalone_mode=False)
    assert str(caught.value).startswith(says)


@pytest.mark.spark
def test_a_node_whose_jvm_is_killed_ends_at_once_and_says_so(tmp_path: Path) -> None:
    running = NodeProcess("n1", tmp_path).ready()
    try:
        (jvm,) = [child for child in psutil.Process(running.process.pid).children(recursive=True) if child.name() == "java"]
        jvm.kill()
        assert running.process.wait(30) == 1
        assert f"node 'n1' ends at once: its JVM, process {jvm.pid}, has ended" in (tmp_path / "n1.log").read_text()
    finally:
        running.end()
