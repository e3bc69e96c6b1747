"""The dashboard in a real browser: what stands on the pages is what the journal says."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.browsers import chromium, looking
from dashboard.served import TOKEN, served
from dashboard.worlds import BEGAN, NASTY, write
from headway.dashboard.desk import PageDesk
from headway.dashboard.glance import Glance
from headway.dashboard.words import clock, hour
from headway.loop.journal import Journal
from headway.model.time import WallMs

WIDE = ["alerts", "books", "clicks", NASTY]
PAGES = ("", "timeline", "decisions", "approximate", "fleet", "area", "query/books")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Glance]]:
    path = tmp_path_factory.mktemp("journal") / "run.db"
    write(path, WIDE, 60, fixed_ms=250)
    with served(path) as found:
        yield found


def lasting(ms: float) -> str:
    """As the pages write durations."""
    sign = "−" if ms < 0 else ""
    return f"{sign}{abs(ms):.0f} ms" if abs(ms) < 1_000 else f"{sign}{abs(ms) / 1000:.2f} s"


def row(page: Any, name: str) -> Any:
    return page.locator(".inside .row").filter(has=page.locator("b", has_text=re.compile(f"^{re.escape(name)}$")))


def test_the_values_of_the_table_are_those_of_the_journal(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    with looking(browser, address) as page:
        page.wait_for_selector(".inside .row")
        assert page.locator(".inside .row").count() == len(WIDE)
        for told in glance.rows():
            shown = row(page, told["name"])
            assert shown.locator(".c-state").inner_text() == told["state"]
            assert shown.locator(".c-latency .num").inner_text() == lasting(told["last_ms"])
            assert shown.locator(".c-p99").inner_text() == lasting(told["p99_ms"])
            assert shown.locator(".c-overdue").inner_text() == str(told["overdue"])
            assert shown.locator(".c-cost").inner_text() == lasting(told["took_ms"])
            assert shown.locator(".c-deadline span").inner_text() == hour(told["deadline"])
            assert shown.locator(".c-why span").inner_text() == told["because"]
            assert shown.locator(".c-why small").inner_text() == clock(told["decided_at"])
        assert page.wrong == []


def test_not_one_request_goes_to_another_host(browser: Any, site: tuple[str, Glance]) -> None:
    address, _ = site
    with looking(browser, address) as page:
        for part in PAGES:
            page.goto(f"{address}/#/{part}")
            page.wait_for_timeout(300)
        assert len(page.asked) > 15 and {url for url in page.asked if not url.startswith(f"{address}/")} == set()
        assert page.wrong == []


def test_a_query_named_like_a_script_harms_nobody(browser: Any, site: tuple[str, Glance]) -> None:
    address, _ = site
    with looking(browser, address) as page:
        page.wait_for_selector(".inside .row")
        row(page, NASTY).click()
        page.wait_for_selector("h1")
        assert page.locator("h1").inner_text() == NASTY
        page.goto(f"{address}/#/timeline")
        page.wait_for_selector("canvas[data-bars]")
        page.goto(f"{address}/#/decisions")
        page.wait_for_selector(".decisions li")
        assert "harmed" not in page.title().replace(NASTY, "") and page.locator("main script").count() == 0


def test_the_page_of_a_query_tells_its_windows_and_its_story(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    desk = PageDesk(glance)
    told, tale = desk.query("books"), desk.story("books", None)
    with looking(browser, f"{address}/#/query/books") as page:
        page.wait_for_selector(".story li")
        assert page.locator(".story li span").all_inner_texts() == [said for _, said in tale["lines"]]
        dots = page.locator("figure").first.locator("circle")
        assert dots.count() == len(told["windows"])
        assert page.locator(".plots svg.chart").count() >= 5
        facts = page.locator(".facts").inner_text()
        assert f"{told['row']['overdue']} of {told['row']['windows']}" in facts
        page.locator(".chips .chip").nth(1).click()
        page.wait_for_selector(".chips .chip.on:nth-child(2)")
        second = desk.story("books", tale["worst"][1]["end"])
        assert page.locator(".story li span").first.inner_text() == second["lines"][0][1]
        assert page.wrong == []


def test_the_timeline_draws_every_batch_of_its_stretch(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    end = BEGAN + 40_000
    told = PageDesk(glance).timeline(end - 10_000, end)
    with looking(browser, f"{address}/#/timeline?to={end}&span=10000") as page:
        page.wait_for_selector("canvas[data-bars]")
        assert page.locator("canvas").get_attribute("data-bars") == str(len(told["bars"])) != "0"
        assert clock(end - 10_000) in page.locator(".bar .quiet").inner_text()


def test_decisions_scroll_back_to_the_first(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    first = PageDesk(glance).decisions({"after": "0", "limit": "60", "kind": "news"})["lines"]
    with looking(browser, f"{address}/#/decisions") as page:
        page.wait_for_selector(".decisions li")
        for _ in range(40):
            last = page.locator(".decisions li").last.get_attribute("data-line")
            page.keyboard.press("[")
            page.wait_for_timeout(200)
            if page.locator(".decisions li").last.get_attribute("data-line") == last:
                break
        shown = page.locator(".decisions li").last
        assert shown.get_attribute("data-line") == str(first[-1]["id"])
        assert first[-1]["because"] in shown.inner_text()


def test_keys_move_open_pin_filter_and_help(browser: Any, site: tuple[str, Glance]) -> None:
    address, _ = site
    with looking(browser, address) as page:
        page.wait_for_selector(".inside .row")
        page.keyboard.press("/")
        page.keyboard.type("click")
        page.locator(".inside .row").nth(1).wait_for(state="detached")
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.wait_for_selector(".row.chosen")
        page.keyboard.press("p")
        page.wait_for_selector(".row .pin.on")
        page.keyboard.press("Enter")
        page.wait_for_selector("h1")
        assert page.locator("h1").inner_text() == "clicks"
        page.keyboard.press("?")
        assert page.locator("#help").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.wait_for_selector("canvas")
        page.keyboard.press("t")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_what_is_decided_is_on_the_page_without_a_reload(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    write(path, ["books"], 12)
    with served(path) as (address, _), looking(browser, address) as page:
        page.wait_for_selector(".inside .row")
        journal = Journal(path)
        journal.note(WallMs(BEGAN + 13_000), "books", "failed: the disk is full")
        journal.close()
        page.wait_for_selector(".s-failed", timeout=5_000)
        assert row(page, "books").locator(".c-why span").inner_text() == "the disk is full"


@pytest.mark.parametrize("queries", [10, 200, 1_000])
def test_of_many_queries_only_those_in_sight_are_drawn(browser: Any, tmp_path: Path, queries: int) -> None:
    path = tmp_path / "run.db"
    write(path, [f"q{number:04}" for number in range(queries)], 5, slots=4, fixed_ms=5)
    with served(path) as (address, glance), looking(browser, address) as page:
        page.wait_for_selector(".inside .row")
        assert len(glance.names()) == queries and page.locator(".inside .row").count() < 40
        page.locator(".head.c-name").click()
        page.evaluate("document.querySelector('.scroller').scrollTop = 1e9")
        last = f"q{queries - 1:04}"
        page.locator(".inside .row b", has_text=re.compile(f"^{last}$")).wait_for()
        assert page.wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["laptop", "phone"])
def test_no_page_is_wider_than_its_screen(
    browser: Any, site: tuple[str, Glance], scheme: str, size: tuple[int, int]
) -> None:
    address, _ = site
    view = {"viewport": {"width": size[0], "height": size[1]}, "color_scheme": scheme}
    with looking(browser, address, **view) as page:
        for part in PAGES:
            page.goto(f"{address}/#/{part}")
            page.wait_for_timeout(250)
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], part
        assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--scheme').trim()") == scheme


def test_with_a_token_a_browser_is_asked_for_it(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    write(path, ["books"], 12)
    with served(path, TOKEN) as (address, _), looking(browser, address) as page:
        page.fill("#token", TOKEN)
        page.click("button")
        page.wait_for_selector(".inside .row")
        assert TOKEN not in page.content() and TOKEN not in page.url
