"""How soon the death of a query is told: on an open page, in the metrics, and where `headway top` looks."""

import re
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headway.dashboard.glance import Glance
from headway.errors import HeadwayError
from headway.policy.order import Klink
from headway_lab.experiments.dashboard.browser import page_at
from headway_lab.harness.bench import Bench
from headway_lab.harness.setting import Say
from headway_lab.workloads.wall_clock import now_ms

DEATHS, WAIT_S = 20, 30.0
TOP_LOOK_S = 0.5  # as `headway top` does
METRICS_S = 0.05  # a scraper that asks so often sees what any other sees, only later
DEAD = """
(name) => new Promise((done) => {
  const row = () => document.querySelector(`.row[data-query="${name}"] .s-failed`);
  const look = () => { if (row()) done(Date.now()); };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
  look();
  setTimeout(() => done(0), 30000);
})
"""


class Mortal:
    """A sink's function that raises when it is told to, and knows when it did."""

    def __init__(self) -> None:
        self.doomed, self.died = threading.Event(), 0

    def __call__(self, frame: Any, number: int) -> None:
        if self.doomed.is_set():
            self.died = now_ms()
            raise ValueError("it was told to die")


def deaths(bench: Bench, seed: int, say: Say) -> dict[str, Any]:
    """Kill queries one after the other; times in ms, from the moment at which its function raised."""
    from headway.spark.runtime import Runtime

    spark = bench.session("tuned")
    bench.runs += 1
    folder, mortals = Path(f"{bench.folder}/{bench.runs}"), list[Mortal]()
    page_ms, metric_ms, top_ms = list[float](), list[float](), list[float]()
    with Runtime(spark, Klink(), journal=f"{folder}.db") as rt:
        for number in range(DEATHS):
            rows = spark.readStream.format("rate").option("rowsPerSecond", 20).load()
            mortals.append(Mortal())
            marked = rt.watermark(rows, "timestamp", "1 second")
            rt.start(marked.writeStream.foreachBatch(mortals[-1]), name=_name(number), checkpoint=f"{folder}/{number}")
            say(f"starting {number + 1}/{DEATHS}", 0.0)
        address = rt.dashboard()
        with page_at(address) as page, _watching(f"{folder}.db", address) as seen:
            page.wait_for_selector(".inside .row")
            for number, mortal in enumerate(mortals):
                say(f"killing {number + 1}/{DEATHS}", 0.0)
                time.sleep(0.3 + (0.37 * (number + seed)) % 1.0)  # at any moment between two rounds
                mortal.doomed.set()
                shown = float(page.evaluate(DEAD, _name(number)))
                if not shown:
                    raise HeadwayError(f"query {_name(number)} did not die on the page within {WAIT_S:g} s")
                page_ms.append(shown - mortal.died)
                metric_ms.append(_moment(seen["metric"], _name(number)) - mortal.died)
                top_ms.append(_moment(seen["top"], _name(number)) - mortal.died)
    worst = {"page_ms": max(page_ms), "metric_ms": max(metric_ms), "top_ms": max(top_ms)}
    return worst | {"worst_ms": max(worst.values()), "deaths": len(page_ms)}


def _name(number: int) -> str:
    return f"mortal-{number:02}"


def _moment(seen: dict[str, int], name: str) -> int:
    end = time.monotonic() + WAIT_S
    while name not in seen:
        if time.monotonic() > end:
            raise HeadwayError(f"the death of {name} was not told within {WAIT_S:g} s")
        time.sleep(0.01)
    return seen[name]


@contextmanager
def _watching(journal: str, address: str) -> Iterator[dict[str, dict[str, int]]]:
    """When each query was first seen dead: in the metrics, and by a look as the terminal's."""
    over = threading.Event()
    seen: dict[str, dict[str, int]] = {"metric": {}, "top": {}}
    glance = Glance(Path(journal))

    def metrics() -> list[str]:
        with urllib.request.urlopen(f"{address}metrics", timeout=10) as answer:
            return re.findall(r'^headway_query_up\{query="([^"]+)"\} 0\.0$', answer.read().decode(), re.M)

    def top() -> list[str]:
        glance.look()
        return [row["name"] for row in glance.rows() if row["state"] == "failed"]

    def watch(what: str, every_s: float, dead: Callable[[], list[str]]) -> None:
        while not over.wait(every_s):
            for name in dead():
                seen[what].setdefault(name, now_ms())

    wanted = (("metric", METRICS_S, metrics), ("top", TOP_LOOK_S, top))
    threads = [threading.Thread(target=watch, args=each, daemon=True) for each in wanted]
    for thread in threads:
        thread.start()
    try:
        yield seen
    finally:
        over.set()
        for thread in threads:
            thread.join()
