"""The site: it is built of the docs and the code, has no dead link, and asks no other host for anything."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import concepts  # noqa: E402 - what makes the pages and their pictures
import site_messages  # noqa: E402
import site_reading  # noqa: E402
import site_ways  # noqa: E402

FOREIGN = re.compile(
    r"""<(?:script|img|iframe|source)[^>]+src=["']https?://|<link[^>]+href=["']https?://(?!github)|@import|url\(["']?https?:"""
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr  # with --quiet no warning would count
    return folder


@pytest.mark.slow
def test_every_page_is_built_and_none_asks_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 60
    assert {str(page.relative_to(site)): FOREIGN.findall(page.read_text("utf-8")) for page in pages} == {
        str(page.relative_to(site)): [] for page in pages
    }


@pytest.mark.slow
def test_commands_and_messages_are_those_of_the_code(site: Path) -> None:
    commands = (site / "reference" / "commands.html").read_text("utf-8")
    assert "headway fleet move" in commands and "headway explain" in commands
    messages = (site / "reference" / "messages.html").read_text("utf-8")
    assert "spark = …: expected a classic session" in messages


def test_every_message_has_its_way_out() -> None:
    said = {message for room in site_messages.messages().values() for message in room}
    assert len(said) > 450 and sorted(message for message in said if site_ways.silent(message)) == []
    assert [words for words in site_ways.WAYS if not any(words in message for message in said)] == []


def test_messages_are_found_however_they_are_told() -> None:
    """By an error that descends from ours, by a function that is handed the text, and aloud."""
    rooms = site_messages.messages()
    assert "epoch … of … runs here: drain it first" not in rooms["The fleet"] and any(
        "drain it first" in m for m in rooms["In a job"]
    )
    assert "offset = …: the file has … bytes" in rooms["Folders on their way"]  # TransferRefused(status, line)
    assert any(m.startswith("checkpoint = …: expected state in RocksDB") for m in rooms["In a job"])  # raise refuse("...")
    assert any("needs the package …" in m for m in rooms["Commands"])  # raise lacks(...)
    assert len(rooms[site_messages.ALOUD]) >= 25 and any("goes on ungated" in m for m in rooms[site_messages.ALOUD])


READ = """
class Mine(HeadwayError):
    def __init__(self, status: int, line: str) -> None:
        super().__init__(f"{status}: {' '.join(line.split())}")
class Other(Mine): ...
NOTHING = HeadwayError("nothing is there: give one")
def refuse(want: str) -> SettingError:
    return SettingError("key", 5, want)
def f(self, name):
    why = "no bread" if name else "no wine"
    raise Other(404, why)
    raise refuse("a loaf") from None
    self._tell(f"{name} is away")
def _tell(self, text):
    aloud(text)
"""


def test_what_a_module_can_tell_is_read_off_it(tmp_path: Path) -> None:
    (tmp_path / "errors.py").write_text((ROOT / "src/headway/errors.py").read_text("utf-8"))
    (tmp_path / "some.py").write_text(READ)
    told = {(one.text, one.aloud) for one in site_reading.told_in(tmp_path)[tmp_path / "some.py"]}
    assert told == {
        ("nothing is there: give one", False), ("…: no bread", False), ("…: no wine", False),
        ("key = …: expected a loaf", False), ("… is away", True),
    }  # fmt: skip


def test_the_tutorial_shows_the_example_as_it_is() -> None:
    text, example = ((ROOT / name).read_text("utf-8") for name in ("docs/tutorial.md", "examples/tutorial.py"))
    code = text.partition("```python\n")[2].partition("```")[0]
    assert code in example and "@hw.query()" in code


@pytest.mark.parametrize("name", concepts.DRAWN)
def test_the_pictures_of_concepts_are_what_the_simulator_does_today(name: str) -> None:
    """If this fails after a change of a policy: `python tools/concepts.py`, and read the page beside the picture."""
    drawn = concepts.DRAWN[name]()
    assert drawn == (concepts.PICTURES / f"{name}.svg").read_text("utf-8") and "polyline" in drawn
