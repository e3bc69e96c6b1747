"""`headway top`, driven as by a hand on the keyboard."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from textual.widgets import DataTable, Input, Static

from dashboard.worlds import BEGAN, write
from headway.dashboard.glance import Glance
from headway.dashboard.rows import WatchedRow, row_of
from headway.dashboard.terminal import TextScreen, TopScreen
from headway.dashboard.terminal_rows import KEYS, cells, chosen, headline

NAMES = ["alerts", "books", "clicks"]
T = TypeVar("T")


@pytest.fixture(scope="module")
def glance(tmp_path_factory: pytest.TempPathFactory) -> Glance:
    path: Path = tmp_path_factory.mktemp("journal") / "run.db"
    write(path, NAMES, 40, fixed_ms=300)
    made = Glance(path, now=lambda: BEGAN + 41_000)
    made.look()
    return made


def after(glance: Glance, keys: list[str], see: Callable[[TopScreen], T]) -> T:
    """What is seen of it after these keys."""
    screen, found = TopScreen(glance), list[T]()

    async def run() -> None:
        async with screen.run_test(size=(160, 30)) as pilot:
            await pilot.pause()
            await pilot.press(*keys)
            await pilot.pause()
            found.append(see(screen))

    asyncio.run(run())
    return found[0]


def table(screen: TopScreen) -> DataTable[object]:
    return screen.query_one(DataTable)


def names(screen: TopScreen) -> list[str]:
    return [str(key.value) for key in table(screen).rows]


def text(screen: TopScreen) -> str:
    """What is to be read on top of the table."""
    assert isinstance(screen.screen, TextScreen)
    return str(screen.screen.query_one("#text", Static).render())


def head(screen: TopScreen) -> str:
    return str(screen.query_one("#head", Static).render())


def test_the_table_says_what_the_rows_say(glance: Glance) -> None:
    shown = after(glance, [], lambda screen: {name: tuple(table(screen).get_row(name)) for name in names(screen)})
    told = glance.head()
    wanted = {row["name"]: cells(WatchedRow(**row), told["now"], told["target_ms"]) for row in glance.rows()}
    assert shown == wanted and sorted(shown) == NAMES


def test_its_head_tells_of_all_of_them(glance: Glance) -> None:
    said = after(glance, [], head)
    assert "3 queries" in said and "of 1 slots busy" in said and "Klink" in said


def test_it_is_sorted_by_each_column_in_turn_and_the_other_way_round(glance: Glance) -> None:
    assert after(glance, ["s"], names) == NAMES
    assert after(glance, ["s", "S"], names) == NAMES[::-1]
    assert after(glance, ["s", "s", "u"], lambda screen: screen.by) is None


def test_it_is_filtered_by_what_is_typed(glance: Glance) -> None:
    assert after(glance, ["slash", *"book", "enter"], lambda screen: (names(screen), table(screen).has_focus)) == (
        ["books"],
        True,
    )


def test_escape_leaves_the_filter(glance: Glance) -> None:
    left = after(
        glance, ["slash", "escape"], lambda screen: (table(screen).has_focus, screen.query_one(Input).has_class("on"))
    )
    assert left == (True, False)


def test_enter_tells_the_story_of_the_query_under_the_cursor(glance: Glance) -> None:
    said = after(glance, ["slash", *"book", "enter", "enter"], text)
    assert "why was the" in said and "window of books" in said


def test_help_lists_the_keys_and_goes_away(glance: Glance) -> None:
    assert "stand still" in after(glance, ["question_mark"], text)
    assert not after(glance, ["question_mark", "escape"], lambda screen: isinstance(screen.screen, TextScreen))


def test_it_stands_still_when_it_is_told_to(glance: Glance) -> None:
    assert after(glance, ["space"], head).endswith("paused")


def test_unknown_numbers_come_last(glance: Glance) -> None:
    rows = [WatchedRow(**row) for row in glance.rows()]
    rows.append(row_of(glance.book.of_known("new"), None, glance.now))
    for key in ("slack", "next", "latency", "p99", "lag", "rows", "batch"):
        assert chosen(rows, "", key, False, glance.now)[-1].name == "new"
    assert chosen(rows, "", None, False, glance.now)[-1].name == "new"
    assert len(KEYS) == len(cells(rows[-1], glance.now, 1_000)) and "4 queries" in headline(glance.head(), rows)
