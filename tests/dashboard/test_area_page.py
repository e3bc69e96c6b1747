"""The wide area on a page: sites, links, plan and decisions, as the journal of its controller has them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.browsers import chromium, looking
from dashboard.served import served
from dashboard.worlds import write, write_area
from headway.cli.explain import listed
from headway.dashboard.area_map import positions
from headway.dashboard.area_page import area_page
from headway.dashboard.glance import Glance
from headway.dashboard.reading import JournalFile
from headway.loop.kernel import Entry
from headway.loop.questions.adaptation import ADAPTATION
from headway.model.adaptation import Keep, Reassign
from headway.policy.adaptation.streams import streams_of


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("journal") / "area.db"
    assert write_area(path).trace.changes
    return path


@pytest.fixture(scope="module")
def entries(journal: Path) -> list[tuple[int, Entry]]:
    return list(enumerate(JournalFile(journal).entries(ADAPTATION), 1))


def test_decisions_are_those_of_the_journal_with_their_moves_and_how_they_were_judged(
    journal: Path, entries: list[tuple[int, Entry]]
) -> None:
    told = area_page(JournalFile(journal))
    first = told["decisions"][-1]
    assert (first["line"], first["at"], first["because"]) == (1, entries[0][1].at, entries[0][1].decided.because)
    assert len(told["decisions"]) == len(entries) and told["pipelines"] == [told["pipeline"]] == ["chain"]
    (moved,) = (d for d in told["decisions"] if d["kind"] == "re-assign")
    (entry,) = (e for _, e in entries if isinstance(e.decided, Reassign))
    assert moved["words"] == "re-assign mid" and moved["receipt"] == entry.receipt
    assert moved["moves"] == [
        {"stage": "mid", "source": "s0", "target": "s2", "megabytes": 10.0, "seconds": pytest.approx(5.0, rel=0.3)}
    ]
    assert moved["effect"] == "re-assign of mid did what was expected"
    assert {d["effect"] for d in told["decisions"] if d["kind"] == "keep"} == {""}


def test_what_is_drawn_is_what_was_seen_and_what_was_decided(journal: Path, entries: list[tuple[int, Entry]]) -> None:
    line, entry = next((n, e) for n, e in entries if isinstance(e.decided, Reassign))
    told, streams = area_page(JournalFile(journal), "chain", line), streams_of(entry.seen)
    assert (told["line"], told["at"], told["changed"], told["decided"]) == (line, entry.at, ["mid"], "re-assign mid")
    for drawn, deployed in ((told["was"], entry.seen.deployed), (told, entry.decided.deployed)):
        use, fill, names = streams.use(deployed), streams.fill(deployed), entry.seen.area.names
        links = {(one["source"], one["target"]): (one["bytes_per_s"], one["fill"]) for one in drawn["links"]}
        assert links == {(names[a], names[b]): (use[a, b], fill[a, b]) for a, b in np.argwhere(use > 0).tolist()}
        assert [one["fill"] for one in drawn["links"]] == sorted((f for _, f in links.values()), reverse=True)
        where = {s["name"]: [(at["site"], at["tasks"]) for at in s["sites"]] for s in drawn["stages"]}
        place = entry.seen.plan.index("mid")
        assert where["mid"] == [(names[n], count) for n, count in enumerate(deployed.tasks[place]) if count]
        assert sum(site["taken"] for site in drawn["sites"]) == int(streams.taken(deployed.table).sum())
    assert told["was"]["links"][0]["fill"] > 1 > told["links"][0]["fill"], "the thin link was the trouble, and is left"
    rates = {one.stage: one for one in entry.seen.rates}
    (mid,) = (s for s in told["stages"] if s["name"] == "mid")
    assert (mid["arrived"], mid["processed"], mid["strained_ms"]) == (
        rates["mid"].arrived, rates["mid"].processed, rates["mid"].strained_ms,
    ) and mid["strained_ms"] >= 30_000  # fmt: skip


def test_where_nothing_changes_there_is_one_drawing(journal: Path, entries: list[tuple[int, Entry]]) -> None:
    assert isinstance(entries[0][1].decided, Keep)
    told = area_page(JournalFile(journal), "chain", 1)
    assert told["was"] is None and told["changed"] == [] and len(told["decisions"]) == 1


def test_a_journal_without_a_wide_area_has_an_empty_page(tmp_path: Path) -> None:
    write(tmp_path / "run.db", ["books"], 6)
    told = area_page(JournalFile(tmp_path / "run.db"))
    assert (told["pipelines"], told["pipeline"], told["sites"], told["decisions"]) == ([], None, [], [])
    assert area_page(JournalFile(tmp_path / "run.db"), "nobody")["sites"] == []


def test_a_pipeline_is_no_query_of_the_runtime(journal: Path) -> None:
    glance = Glance(journal, now=lambda: 0)
    while glance.look():
        continue
    head = glance.head()
    assert head["area"] and not head["fleet"] and glance.names() == []


def test_explain_lists_pipelines_too(journal: Path) -> None:
    names = listed(JournalFile(journal)).columns[0]
    assert [str(cell) for cell in names.cells] == ["chain"]


@given(ms=st.lists(st.lists(st.floats(0, 400), min_size=12, max_size=12), min_size=12, max_size=12), n=st.integers(0, 12))
def test_sites_lie_on_the_map_and_none_upon_another(ms: list[list[float]], n: int) -> None:
    table = np.array(ms)[:n, :n]
    placed = positions(table)
    assert len(placed) == n and placed == positions(table)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in placed) and len(set(placed)) == n


def test_sites_that_are_near_on_the_network_are_near_on_the_map() -> None:
    ms = np.array([[0, 10, 150, 155], [10, 0, 150, 150], [150, 150, 0, 10], [155, 150, 10, 0]], dtype=float)
    a, b, c, d = (np.array(at) for at in positions(ms))
    assert max(np.linalg.norm(a - b), np.linalg.norm(c - d)) < 0.6 * min(np.linalg.norm(a - c), np.linalg.norm(b - d))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running


def test_the_map_has_every_site_and_link_and_turns_back(browser: Any, journal: Path) -> None:
    told = area_page(JournalFile(journal))
    line = next(d["line"] for d in told["decisions"] if d["kind"] == "re-assign")
    then = area_page(JournalFile(journal), "chain", line)
    with served(journal, now=0) as (address, _), looking(browser, address) as page:
        page.wait_for_selector("[data-site]")
        assert page.url.endswith("#/area"), "where there is nothing else, it is what is shown"
        assert page.locator("[data-site]").count() == 3 and page.locator("svg.plan .stage").count() == len(told["stages"])
        assert page.locator(".decisions li").count() == len(told["decisions"])
        page.locator(f'.decisions li[data-line="{line}"]').click()
        page.wait_for_selector(".turns .chip.on")
        drawn = {str(link.get_attribute("data-link")) for link in page.locator("[data-link]").all()}
        assert drawn == {f"{one['source']} {one['target']}" for one in then["links"]}
        assert page.locator(".link.bad").count() == 0
        page.locator(".turns .chip", has_text="as it was").click()
        page.locator(".link.bad").wait_for()
        assert page.locator(".stage.behind").count() == 1
        page.keyboard.press("]")
        page.locator(f'.decisions li.chosen:not([data-line="{line}"])').wait_for()
        assert page.wrong == []
