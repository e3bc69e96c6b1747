"""What `headway top` draws, as text: the table, its filter, its help, a story. Snapshots are in `snapshots`.

After a change that is wanted: SNAPSHOTS=write pytest tests/dashboard/test_top_snapshots.py, and look at what differs.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.worlds import BEGAN, write
from headway.dashboard.glance import Glance
from headway.dashboard.terminal import TopScreen
from headway.loop.journal import Journal
from headway.model.time import WallMs

SNAPSHOTS = Path(__file__).with_name("snapshots")
NAMES = ["alerts", "books", "clicks", "orders"]
SCREENS = {
    "table": [],
    "by-name": ["s", "S"],
    "filtered": ["slash", *"book", "enter"],
    "help": ["question_mark"],
    "story": ["slash", *"book", "enter", "enter"],
    "paused": ["space"],
}


@pytest.fixture(scope="module")
def in_utc() -> Iterator[None]:
    """Screens show the time of the machine's own zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture(scope="module")
def glance(in_utc: None, tmp_path_factory: pytest.TempPathFactory) -> Glance:
    """Four queries, one of which has died."""
    path: Path = tmp_path_factory.mktemp("journal") / "run.db"
    write(path, NAMES, 40, fixed_ms=300)
    journal = Journal(path)
    journal.note(WallMs(BEGAN + 40_500), "orders", "failed: ValueError: the disk is full")
    journal.close()
    made = Glance(path, now=lambda: BEGAN + 41_000)
    while made.look():
        continue
    return made


def drawn(glance: Glance, keys: list[str]) -> str:
    """The screen after these keys, line by line."""
    screen, found = TopScreen(glance), list[str]()

    async def run() -> None:
        async with screen.run_test(size=(180, 24)) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
            found.extend(strip.text.rstrip() for strip in screen.screen._compositor.render_strips())

    asyncio.run(run())
    return "\n".join(found) + "\n"


@pytest.mark.parametrize("name", SCREENS)
def test_it_is_drawn_as_it_was(glance: Glance, name: str) -> None:
    shown, kept = drawn(glance, SCREENS[name]), SNAPSHOTS / f"top-{name}.txt"
    if os.environ.get("SNAPSHOTS") == "write":
        SNAPSHOTS.mkdir(exist_ok=True)
        kept.write_text(shown, "utf-8")
    assert shown == kept.read_text("utf-8")


def test_snapshots_have_what_they_are_of() -> None:
    kept = {file.stem: file.read_text("utf-8") for file in SNAPSHOTS.iterdir()}
    assert kept.keys() == {f"top-{name}" for name in SCREENS}
    assert all(name in kept["top-table"] for name in NAMES) and "the disk is full" in kept["top-table"]
    assert "alerts" not in kept["top-filtered"] and "why was the" in kept["top-story"] and "stand still" in kept["top-help"]
