"""The page and the screen of `headway demo wan`, out of a story that was made up."""

from rich.console import Console

from headway.wan.testbed import LinkStatus
from headway_lab.experiments.wan_live import page
from headway_lab.experiments.wan_live.watch import AreaChange, AreaMoment, AreaStory, delays, mbit_per_s, moved, rates

SITES = ("frankfurt", "ohio", "tokyo")
PAIRS = [(a, b) for a in SITES for b in SITES if a != b]
THIN = ("tokyo", "frankfurt")
HALVED, MOVED, END = 60, 90, 180


def mbit(pair: tuple[str, str], second: int) -> float:
    """Half of what there is; the thin link is full from when it halves until the stage has moved."""
    if pair == THIN and HALVED <= second < MOVED:
        return 0.44
    return 0.40 if pair[1] == ("ohio" if second >= MOVED else "frankfurt") else 0.01


def a_story() -> AreaStory:
    begin, sent = 1_000_000, dict.fromkeys(PAIRS, 0.0)
    story = AreaStory(SITES, 0.02, "wasp", [(begin, "calm"), (begin + HALVED * 1_000, "half of the link")])
    results: dict[int, int] = {}
    for second in range(END + 1):
        at = begin + second * 1_000
        for pair in PAIRS:
            sent[pair] += mbit(pair, second) * 1e6 / 8
        if second and second % 5 == 0:
            results = {**results, at: at + (2_000 if second < HALVED else 9_000 if second < MOVED else 3_000)}
        links = tuple(
            LinkStatus(*pair, 450_000 if second >= HALVED and set(pair) == set(THIN) else 900_000, round(sent[pair]), 0)
            for pair in PAIRS
        )
        homes: dict[str, tuple[str, ...]] = {
            "combine-all": ("ohio",) if second >= MOVED else ("frankfurt",),
            "sink": ("frankfurt",),
        }
        story.moments.append(AreaMoment(at, links, homes, results))
    story.changes.append(AreaChange(begin + 85_000, "re-assign combine-all", "66 of 80 rows/s arrive", "begun"))
    return story


def shown(what: object) -> str:
    console = Console(width=140, record=True)
    console.print(what)
    return console.export_text()


def test_rates_are_bytes_over_time_and_moves_are_seen() -> None:
    story = a_story()
    assert round(mbit_per_s(story.moments[10:21])["ohio", "frankfurt"], 3) == 0.4
    assert round(rates(story.moments, THIN)[70][1], 3) == 0.44
    assert moved(story.moments) == [(1_090_000, "combine-all: frankfurt to ohio")]
    assert delays(story)[0] == (5.0, 2.0)


def test_the_page_has_all_figures_and_needs_nothing_from_elsewhere() -> None:
    html = page.page(a_story())
    for heading in (
        "Map: calm",
        "Map: half of the link",
        "Bottlenecks",
        "Links",
        "Delay",
        "Bytes over the wide area",
        "Decisions",
    ):
        assert f"<h3>{heading}" in html, heading
    assert "re-assign combine-all" in html and "combine-all: frankfurt to ohio" in html
    assert "0.40 of 0.90 Mbit" in html and "dollars a gigabyte" in html
    assert "<script src=" not in html


def test_a_link_that_is_down_is_drawn_as_such() -> None:
    story = a_story()
    last = story.moments[-1]
    links = tuple(
        LinkStatus(one.source, one.target, one.bits_per_s, one.sent_bytes, 0, up=(one.source, one.target) != THIN)
        for one in last.links
    )
    story.moments[-1] = AreaMoment(last.at_ms, links, last.homes, last.results)
    assert '"text":"down"' in page.page(story) and "down" in shown(page.live(story))


def test_the_summary_says_which_link_is_full_and_what_it_cost() -> None:
    story = a_story()
    told = shown(page.summary(story))
    assert ("calm" in told and "frankfurt -> ohio" in told) or "tokyo -> ohio" in told
    assert f"{story.dollars:.5f}" in shown(page.live(story))


def test_a_story_in_which_nothing_came_out_is_told_all_the_same() -> None:
    story = a_story()
    story.moments = [AreaMoment(m.at_ms, m.links, m.homes, {}) for m in story.moments]
    story.changes = []
    assert "no window out" in shown(page.summary(story)) and "no window yet" in shown(page.live(story))
    assert "<h3>Delay" in page.page(story)
