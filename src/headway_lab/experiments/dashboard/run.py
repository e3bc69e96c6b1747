"""A browser draws many queries, waits for what is decided, and a runtime of real queries is shown meanwhile."""

import random
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from headway.dashboard.app import Watcher, application
from headway.dashboard.glance import Glance
from headway.errors import HeadwayError
from headway.fleet.node.app import Listening, NodeServer
from headway.loop.journal import Journal
from headway.loop.kernel import Entry
from headway.model.deadline import Grid
from headway.model.patience import PatienceView, Wait
from headway.model.time import WallMs
from headway.policy.order import Klink
from headway.testing import VirtualInput, VirtualQuery, VirtualWorld
from headway_lab.experiments.dashboard.browser import page_at
from headway_lab.workloads.wall_clock import now_ms

DRAW, TOLD, COST, DIED = "dashboard-draw", "dashboard-told", "dashboard-cost", "dashboard-deaths"
FRAMES, DECISIONS = 60, 40
SHOWN_S = 20  # of virtual time in a journal
# Another stretch of the table in every frame, so that no cell of it stays as it was. What follows the page's own drawing in
# the same frame makes the browser work out styles and places, as it would before it paints.
FRAME = """
async (frames) => {
  const box = document.querySelector('.scroller'), took = [];
  for (let i = 0; i < frames; i += 1) {
    box.scrollTop = ((i * 733) % Math.max(1, box.scrollHeight - box.clientHeight));
    dispatchEvent(new Event('resize'));
    took.push(await new Promise((done) => requestAnimationFrame(() => {
      const began = performance.now();
      box.getBoundingClientRect(); void document.body.offsetHeight; void box.lastElementChild.offsetHeight;
      done(Number(document.documentElement.dataset.frameMs) + performance.now() - began);
    })));
  }
  return took;
}
"""
SEEN = """
(word) => new Promise((done) => {
  const shown = () => [...document.querySelectorAll('.c-why')].some((c) => c.textContent.includes(word));
  const look = () => { if (shown()) done(Date.now()); };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
  look();
  setTimeout(() => done(0), 30000);
})
"""


def drawn(queries: int, seed: int) -> dict[str, Any]:
    """How long a frame takes, in ms, and how long it takes until the first rows stand on the page."""
    with _journal(queries, seed, now_ms() - 1000 * SHOWN_S) as path, _served(path) as address:
        began = time.monotonic()
        with page_at(address) as page:
            page.wait_for_selector(".inside .row")
            first = time.monotonic() - began
            took = sorted(page.evaluate(FRAME, FRAMES))
            rows = page.locator(".inside .row").count()
    return {
        "frame_ms": round(median(took), 2), "frame_max_ms": round(took[-1], 2), "frames": len(took), "rows": rows,
        "browser_and_first_rows_s": round(first, 2),
    }  # fmt: skip


def told(queries: int, seed: int) -> dict[str, Any]:
    """How long after it was made a decision stands on an open page, in ms."""
    chance, waits = random.Random(seed), list[float]()
    with _journal(queries, seed, now_ms() - 1000 * SHOWN_S) as path, _served(path) as address, page_at(address) as page:
        page.wait_for_selector(".inside .row")
        page.locator(".head.c-name").click()  # by name the first row stays in sight, whatever is decided
        journal = Journal(path)
        try:
            name = page.locator(".inside .row").first.get_attribute("data-query")
            with _company(journal, [other for number in range(queries) if (other := _name(number)) != name], seed):
                for number in range(DECISIONS):
                    time.sleep(chance.uniform(0.6, 1.4))
                    word, at = f"mark {number} of {seed}", now_ms()
                    journal.append(_decided(at, str(name), 200 + number, word))
                    if not (shown := float(page.evaluate(SEEN, word))):
                        raise HeadwayError(f"decision {number} did not come to the page within half a minute")
                    waits.append(shown - at)
        finally:
            journal.close()
    return {"median_ms": round(median(waits), 1), "worst_ms": round(max(waits), 1), "decisions": len(waits)}


@contextmanager
def _company(journal: Journal, names: list[str], seed: int) -> Iterator[None]:
    """Decisions about other queries meanwhile: a quiet journal commits at once, one in use pauses between two commits."""
    over, chance = threading.Event(), random.Random(f"company {seed}")

    def decide() -> None:
        while not over.wait(chance.uniform(0.01, 0.09)):
            journal.append(
                _decided(now_ms(), chance.choice(names), chance.randrange(100, 900), "others are decided about, too")
            )

    thread = threading.Thread(target=decide, name="headway-company", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _name(number: int) -> str:
    return f"query-{number:04}"


def _decided(at: int, query: str, wait_ms: int, because: str) -> Entry:
    answer = Wait(wait_ms, because)
    return Entry(WallMs(at), PatienceView(), answer, answer, "set", "patience", f"{query}/rows", "Quantile()")


@contextmanager
def _journal(queries: int, seed: int, began: int) -> Iterator[Path]:
    """Queries in virtual time, by a clock that has come to now in the end."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.db"
        journal = Journal(path)
        world = VirtualWorld(Klink(), slots=8, cores=8, seed=seed, journal=journal)
        world.clock.at = began
        for number in range(queries):
            rows = VirtualInput(f"rows-{number}", patience_ms=200, delays_ms=(20, 60, 100))
            grid = Grid((2_000, 3_000, 5_000)[number % 3], number * 37 % 2_000)
            world.add(VirtualQuery(_name(number), grid, rows, fixed_ms=6, starts_ms=began))
        world.run(began + 1000 * SHOWN_S)
        journal.close()
        yield path


@contextmanager
def _served(path: Path) -> Iterator[str]:
    glance = Glance(path)
    while glance.look():
        continue
    server, watcher = NodeServer(application(glance), Listening()), Watcher(glance)
    watcher.start()
    server.start()
    try:
        yield server.address
    finally:
        watcher.stop()
        server.stop()
