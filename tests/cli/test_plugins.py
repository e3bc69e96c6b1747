"""Commands of other packages: there, told of, and no trouble where they lack something."""

import subprocess
import sys

import pytest
import typer

from headway.cli import plugins


def called(*words: str, without: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process that has no such package."""
    code = f"import sys; sys.modules[{without!r}] = None; from headway.cli.app import main; sys.exit(main({list(words)!r}))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


NEEDING = [("demo",), ("claims",), ("sim", "paper", "--minutes", "1")]


# A process each: where tests are in a hurry the first must do.
@pytest.mark.parametrize("words", [("bench", "klink"), *(pytest.param(w, marks=pytest.mark.slow) for w in NEEDING)])
def test_what_lacks_a_package_says_so_in_one_line_before_it_begins(words: tuple[str, ...]) -> None:
    said = called(*words, without="plotly")
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == f"headway: `{words[0]}` needs the package plotly, which is not installed: " + (
        "pip install 'headway[lab]' brings it\n"
    )


@pytest.mark.slow
def test_what_lacks_nothing_works_all_the_same() -> None:
    said = called("jar", without="plotly")
    assert said.returncode == 0 and said.stdout.strip().endswith(".jar")


def test_a_plug_in_is_added_once() -> None:
    app = typer.Typer()
    plugins.add_to(app)
    plugins.add_to(app)
    names = [one.name for one in app.registered_commands] + [one.name for one in app.registered_groups]
    assert sorted(filter(None, names)) == ["bench", "claims", "demo", "sim"]
