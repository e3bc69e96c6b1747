"""Pages with real content in a real browser: each value, plot and ring is that of the journal."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.browsers import chromium, looking
from dashboard.served import served
from dashboard.worlds import BEGAN, write, write_fleet, write_sampled
from headway.dashboard.desk import PageDesk
from headway.dashboard.glance import Glance
from headway.dashboard.words import clock, hour
from headway.loop import published
from headway.loop.published import PublishedStatus
from headway.model.status import InputStatus, QueryStatus, RuntimeStatus
from headway.model.time import WallMs

NAMES = ["alerts", "books", "clicks"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Glance]]:
    path = tmp_path_factory.mktemp("journal") / "run.db"
    write(path, NAMES, 60, fixed_ms=250)
    inputs = (InputStatus("rows", late=1_234),)
    queries = tuple(QueryStatus(n, "at the gate", WallMs(BEGAN + 59_000), "q-1", "r-1", inputs=inputs) for n in NAMES)
    told = PublishedStatus(RuntimeStatus(WallMs(BEGAN + 60_000), "Klink", 1, queries), "http://127.0.0.1:9")
    published.publish(told, published.place_of(path))
    with served(path) as found:
        yield found


def lasting(ms: float) -> str:
    """As the pages write durations up to a minute."""
    size, sign = abs(ms), "−" if ms < 0 else ""
    return f"{sign}{size:.0f} ms" if size < 1_000 else f"{sign}{size / 1000:.{2 if size < 10_000 else 1}f} s"


def count(n: int) -> str:
    return f"{n:,}" if n < 10_000 else f"{n / 1000:.1f}k"


def seconds(text: str) -> float:
    number, unit = text.replace("−", "-").split()
    return float(number) / (1000 if unit == "ms" else 1)


def test_slack_lag_waiting_and_late_are_those_of_the_journal(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    with looking(browser, address) as page:
        page.wait_for_selector(".inside .row")
        for told in glance.rows():
            shown = page.locator(f'.row[data-query="{told["name"]}"]')
            # What counts down goes on while the page is read; it is off by the time since, and no more.
            for cell, wanted_ms in ((".c-slack", told["begin_by"] - glance.now), (".c-lag", glance.now - told["watermark"])):
                assert abs(seconds(shown.locator(cell).inner_text()) - wanted_ms / 1000) < 20, cell
            assert shown.locator(".c-backlog").inner_text() == count(told["backlog"])
            assert shown.locator(".c-late").inner_text() == "1,234" == count(told["late"])
        assert page.wrong == []


def test_the_plots_of_a_query_have_a_mark_for_each_batch(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    told = PageDesk(glance).query("alerts")
    with looking(browser, f"{address}/#/query/alerts") as page:
        page.wait_for_selector(".plots svg.chart")
        figure = {f.locator("figcaption b").inner_text(): f for f in page.locator(".plots figure").all()}
        assert figure["What a batch costs"].locator("circle").count() == len(told["batches"])
        assert figure["What a batch costs"].locator("path.model").count() == 1
        steps = figure["State"].locator("path.main").get_attribute("d")
        assert steps.count("H") == len(told["batches"]) - 1
        with_mark = [b for b in told["batches"] if b["watermark"] and b["at"] - b["watermark"] < 86_400_000]
        lag = figure["Watermark and windows"].locator("path.line").get_attribute("d")
        assert lag.count("L") == len(with_mark) - 1
        bins = sum(len(i["histogram"]["bins"]) for i in told["inputs"])
        assert figure["How late rows come"].locator("rect.main").count() == bins > 0
        rows = page.locator(".progress li[data-end]")
        assert [r.get_attribute("data-end") for r in rows.all()] == [str(w["end"]) for w in told["progress"]]
        assert rows.first.locator("b").inner_text() == hour(told["progress"][0]["end"])
        assert page.wrong == []


def test_the_page_of_a_query_scrolls_back_and_shows_a_batch(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    upto = BEGAN + 40_000
    told = PageDesk(glance).query("books", upto - 15_000, upto)
    with looking(browser, f"{address}/#/query/books?to={upto}&span=15000") as page:
        page.wait_for_selector(".plots svg.chart")
        dots = page.locator(".plots figure").nth(3).locator("circle")
        assert dots.count() == len(told["batches"]) > 3
        assert clock(told["batches"][0]["at"])[:8] in page.locator(".stretch").inner_text()
        dots.nth(1).click(force=True)
        page.wait_for_selector(".picked b")
        batch = page.locator(".picked b").inner_text().rpartition(" ")[2]
        assert int(batch) in {b["batch"] for b in told["batches"]}
        link = page.locator(".picked a.spark").get_attribute("href")
        assert link == f"/spark?query=books&batch={batch}"
        before = page.locator(".stretch").inner_text()
        page.keyboard.press("[")
        page.wait_for_function("said => document.querySelector('.stretch').textContent !== said", arg=before)
        earlier = PageDesk(glance).query("books", upto - 27_000, upto - 12_000)["batches"]
        assert clock(earlier[0]["at"])[:8] in page.locator(".stretch").inner_text()


def test_bars_are_chosen_by_keys_and_lead_to_spark(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    end = BEGAN + 40_000
    bars = PageDesk(glance).timeline(end - 10_000, end)["bars"]
    with looking(browser, f"{address}/#/timeline?to={end}&span=10000") as page:
        page.wait_for_selector("canvas[data-bars]")
        page.wait_for_timeout(500)  # links need the rows
        for press, bar in (("j", bars[0]), ("j", bars[1]), ("k", bars[0])):
            page.keyboard.press(press)
            assert page.locator("canvas").get_attribute("data-chosen") == f"{bar['query']}#{bar['batch']}"
        said = page.locator(".picked").inner_text()
        assert f"{bars[0]['query']}, batch {bars[0]['batch']}" in said and clock(bars[0]["began"]) in said
        link = page.locator(".picked a.spark").get_attribute("href")
        assert link == f"/spark?query={bars[0]['query']}&batch={bars[0]['batch']}"
        page.keyboard.press("Enter")
        page.wait_for_selector("h1")
        assert page.locator("h1").inner_text() == bars[0]["query"] and page.wrong == []


def test_decisions_lead_to_spark_too(browser: Any, site: tuple[str, Glance]) -> None:
    address, glance = site
    told = PageDesk(glance).decisions({"limit": "60", "kind": "news"})["lines"]
    grant = next(line for line in told if line["batch"] is not None)
    with looking(browser, f"{address}/#/decisions") as page:
        page.wait_for_selector(".decisions li")
        page.keyboard.press("]")
        shown = page.locator(f'.decisions li[data-line="{grant["id"]}"] a.spark')
        shown.wait_for()
        assert shown.get_attribute("href") == f"/spark?query={grant['query']}&batch={grant['batch']}"


def test_the_approximate_page_draws_shares_bounds_and_latencies(browser: Any, tmp_path: Path) -> None:
    write_sampled(tmp_path / "run.db")
    with served(tmp_path / "run.db") as (address, glance), looking(browser, f"{address}/#/approximate") as page:
        page.wait_for_selector(".bounds svg")
        (told,) = PageDesk(glance).approximate()["inputs"]
        said = page.locator("#page").inner_text()
        assert f"{told['share']:.1%}" in said and "within 5.0% in 95% of windows" in said
        assert page.locator(".bounds path.main").get_attribute("d").count("H") == len(told["bounds"]) - 1 > 0
        assert page.locator(".latencies circle").count() == len(told["windows"]) > 0
        assert page.wrong == []


def test_the_fleet_page_draws_rings_and_moves_and_is_walked_by_keys(browser: Any, tmp_path: Path) -> None:
    write_fleet(tmp_path / "run.db")
    with served(tmp_path / "run.db", now=480_000) as (address, glance), looking(browser, f"{address}/#/fleet") as page:
        page.wait_for_selector(".rings")
        told = PageDesk(glance).fleet(None)
        assert page.locator(".node header b").all_inner_texts() == [n["name"] for n in told["nodes"]]
        cells = sum(len(n["ring"]["values"]) for n in told["nodes"])
        assert page.locator(".rings .cell").count() == cells > 0
        first = told["nodes"][0]["ring"]
        soon = sum(first["values"][: first["windows"]]) / first["windows"]
        assert page.locator(".rings .core").first.text_content() == f"{soon:.2f}"
        rows = page.locator(".decisions li")
        assert [r.get_attribute("data-query") for r in rows.all()] == [m["query"] for m in told["moves"]] != []
        assert rows.first.locator("p").first.inner_text() == told["moves"][0]["because"]
        page.keyboard.press("j")
        assert "chosen" in rows.nth(min(1, rows.count() - 1)).get_attribute("class")
        before = told["moves"][min(1, rows.count() - 1)]
        then = PageDesk(glance).fleet(before["line"])
        page.keyboard.press("Enter")
        page.wait_for_function("said => document.querySelector('.bar b').textContent.startsWith(said)",
                               arg=clock(then["at"]))  # fmt: skip
        assert page.wrong == []
