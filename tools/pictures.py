"""The pictures of the dashboard in `docs/pictures`, taken anew: simulated journals, looked at by a real Chromium.

python tools/pictures.py                       # `make pictures`
python tools/pictures.py --approximate RUN.db  # that of sampled queries out of the journal of a run with `rt.approximate`
"""

import argparse
import asyncio
import re
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from dashboard.browsers import chromium, looking  # noqa: E402 - the tests know how to start a browser
from dashboard.worlds import write_sampled  # noqa: E402
from headway.dashboard.app import Watcher, application  # noqa: E402
from headway.dashboard.desk import PageDesk  # noqa: E402
from headway.dashboard.glance import Glance  # noqa: E402
from headway.dashboard.terminal import TopScreen  # noqa: E402
from headway.errors import HeadwayError  # noqa: E402
from headway.fleet.node.app import Listening, NodeServer  # noqa: E402
from headway.loop.journal import Journal  # noqa: E402
from headway.model.deadline import Grid  # noqa: E402
from headway.model.message import BatchSeen  # noqa: E402
from headway.model.view import QueryView  # noqa: E402
from headway.policy.order import Klink  # noqa: E402
from headway.policy.patience import Quantile  # noqa: E402
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld  # noqa: E402

PICTURES = ROOT / "docs/pictures"
LEARNS = "orders-by-shop"  # how late its rows are
BEGAN = 1_794_825_300_000
LAPTOP, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
JOBS = (
    "orders-by-shop", "clicks-by-campaign", "fraud-alerts", "stock-levels", "basket-size", "search-terms", "page-load-times",
    "logins-by-country", "payments", "refunds", "delivery-delays", "courier-positions", "sensor-drift", "door-openings",
    "temperature", "energy-use", "taxi-fares", "bus-delays", "heart-rates", "tolls-by-segment", "error-rates", "api-latency",
    "sessions", "ad-views",
)  # fmt: skip


class GrowingJournal(Journal):
    """A journal in which the state of one query grows, as that of a join without a time limit does."""

    def batch(self, seen: BatchSeen, view: QueryView) -> None:
        if seen.query == LEARNS:
            seen = replace(seen, state_rows=4_000 + 130 * seen.batch, state_bytes=1_200_000 + 41_000 * seen.batch)
        super().batch(seen, view)


def runtime(path: Path) -> None:
    """Four minutes of two dozen queries on two cores, one of them heavy from the third minute on."""
    journal = GrowingJournal(path)
    world = VirtualWorld(Klink(), slots=2, cores=2, spread=0.35, seed=4, journal=journal)
    world.clock.at = BEGAN
    for number, name in enumerate(JOBS):
        rows = VirtualInput(
            name.partition("-")[0], patience_ms=300 + 100 * (number % 4), rows_per_s=100 + 53 * (number % 7),
            delays_ms=(5, 20, 40, 80, 150, 260, 420), policy=Quantile(share=0.97) if number % 5 == 0 else None,
        )  # fmt: skip
        period = (2_000, 3_000, 5_000, 10_000)[number % 4]
        world.add(VirtualQuery(name, Grid(period), rows, fixed_ms=95 + 9 * (number % 6), per_row_ms=0.02, starts_ms=BEGAN))
    heavy = VirtualInput("history", patience_ms=500, rows_per_s=9_000, delays_ms=(10, 60, 200))
    world.add(
        VirtualQuery("customer-history", Grid(4_000), heavy, fixed_ms=300, per_row_ms=0.035, starts_ms=BEGAN + 150_000)
    )
    world.run(BEGAN + 240_000)
    journal.close()


def fleet(path: Path) -> None:
    """A fleet of six nodes, two of which get five times the load of the others after five minutes."""
    from headway.sim.fleet.world import FleetTimes, FleetWorld
    from headway_lab.experiments.fleet import cases, run

    case, journal = cases.FleetCase(rates="variable", minutes=9, nodes=6, computations=180), Journal(path)
    arm = run.ARMS["prediction-rings"]()
    times = FleetTimes(status_ms=1000 * case.status_s)
    FleetWorld(cases.engine(case, 1), arm.policy, journal, times, case.sight, 1).run(case.minutes * 60_000)
    journal.close()


def wide_area(path: Path) -> None:
    """Sixteen sites, as the traces have them, on which rates double and links become thin."""
    from headway_lab.experiments.wan import cases, run

    journal = Journal(path)
    run.simulate(cases.WanCase("techniques"), "wasp", 1, journal)
    journal.close()


@contextmanager
def served(path: Path) -> Iterator[tuple[str, Glance]]:
    glance = Glance(path)
    while glance.look():
        continue
    server, watcher = NodeServer(application(glance), Listening()), Watcher(glance)
    server.start()
    watcher.start()
    try:
        yield server.address, glance
    finally:
        watcher.stop()
        server.stop()


def picture(
    browser: Any, address: str, name: str, *, scheme: str = "light", view: dict[str, int] = LAPTOP, height: int = 0,
    press: str = "",
) -> None:  # fmt: skip
    """One page as a file. With a `height` the window is that high: pages that scroll show more. `press`: what is clicked."""
    size = view | ({"height": height} if height else {})
    with looking(browser, address, viewport=size, color_scheme=scheme, device_scale_factor=1.2) as page:
        page.wait_for_timeout(1_500)
        if press:
            page.locator(press).first.click()
            page.wait_for_timeout(300)
        page.screenshot(path=PICTURES / f"dashboard-{name}.png")
        print(f"dashboard-{name}.png", "; ".join(page.wrong))


def of_runtime(browser: Any, path: Path) -> None:
    with served(path) as (address, glance):
        desk = PageDesk(glance)
        at = desk.story(LEARNS, None)["end"]
        picture(browser, address, "queries")
        picture(browser, address, "queries-dark", scheme="dark")
        picture(browser, address, "queries-phone", view=PHONE)
        picture(browser, f"{address}/#/timeline?to={at + 4_000}&span=9000", "timeline", height=370)
        picture(browser, f"{address}/#/query/{LEARNS}", "query", height=2_400)
        picture(browser, f"{address}/#/query/{LEARNS}", "query-phone", view=PHONE, scheme="dark")
        picture(browser, f"{address}/#/decisions", "decisions")


def of_area(browser: Any, path: Path) -> None:
    """At the first decision that changes something. Its traces are in no repository."""
    try:
        wide_area(path)
    except HeadwayError as error:
        print(f"no picture of a wide area: {error}")
        return
    with served(path) as (address, glance):
        told = PageDesk(glance).area(None, None)["decisions"]
        line = [d["line"] for d in told if d["kind"] != "keep"][-1]
        picture(browser, f"{address}/#/area?before={line}", "area", height=1_560, press=".turns .chip")


def top(browser: Any, path: Path) -> None:
    """The terminal."""
    glance = Glance(path)
    while glance.look():
        continue
    screen, drawn = TopScreen(glance), list[str]()

    async def run() -> None:
        async with screen.run_test(size=(170, 32)) as pilot:
            await pilot.pause()
            drawn.append(screen.export_screenshot(title="headway top"))

    drawing = threading.Thread(target=lambda: asyncio.run(run()))  # Playwright has the loop of this one
    drawing.start()
    drawing.join()
    # A drawing of rich's names fonts that are elsewhere; those of this machine do as well.
    own = re.sub(r"@font-face {.*?}", "", drawn[0], flags=re.S).replace("Fira Code", "DejaVu Sans Mono")
    page = browser.new_page(viewport={"width": 1600, "height": 800})
    page.set_content(own)
    page.locator("svg").screenshot(path=PICTURES / "top.png")
    print("top.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--approximate", type=Path)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        runtime(Path(folder) / "shop.db")
        of_runtime(browser, Path(folder) / "shop.db")
        top(browser, Path(folder) / "shop.db")
        fleet(Path(folder) / "orchestrator.db")
        with served(Path(folder) / "orchestrator.db") as (address, _):
            picture(browser, f"{address}/#/fleet", "fleet", height=1_300)
        of_area(browser, Path(folder) / "wide-area.db")
        sampled = Path(folder) / "sampled.db"
        if wanted.approximate is None:
            write_sampled(sampled, 240)
        with served(wanted.approximate or sampled) as (address, _):
            picture(browser, f"{address}/#/approximate", "approximate", height=1_120)


if __name__ == "__main__":
    main()
