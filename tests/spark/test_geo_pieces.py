"""Pieces of a geo pipeline on a real broker: whatever the plan, and whoever ends, the results are those of one place."""

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import headway as hw
from headway.model.piece import Piece
from headway.spark.geo.query import PieceQuery
from headway.wan.job import GeoJob
from headway_lab.workloads.replay import replay
from headway_lab.workloads.ysb import Ysb
from spark.geo_stages import SITES, WINDOW_MS, Delivered, checkpoint, job_of, made_topics, pieces_in_order, shown, truth
from spark.scripted import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
SECONDS = 7


def sending(ads: dict[str, Ysb], name: str, address: str) -> list[threading.Thread]:
    """All sites at once, each row at its own time."""

    def send(site: str, one: Ysb) -> None:
        feeds = (one.feed(one.epoch_ms + s * 1_000, one.epoch_ms + (s + 1) * 1_000) for s in range(SECONDS + 1))
        replay(feeds, address, f"{name}-{site}")

    threads = [threading.Thread(target=send, args=each, daemon=True) for each in ads.items()]
    for thread in threads:
        thread.start()
    return threads


def begun(rt: hw.Runtime, job: GeoJob, piece: Piece, address: str, folder: Path) -> Any:
    query = PieceQuery(job, piece, dict.fromkeys(SITES, address), lambda: None)
    return rt.start(query.writer(rt), name=piece.name, checkpoint=checkpoint(folder, piece))


def soon() -> int:
    return time.time_ns() // 1_000_000 + 1_000


def test_parts_that_are_brought_together_are_what_one_place_would_count(spark: Any, kafka: str, tmp_path: Path) -> None:
    """With two tasks, and one piece that is killed in the middle and goes on from its checkpoint."""
    ads, out = shown(soon()), Delivered()
    job = job_of("geo-partial", ads, out.sink)
    plan = job.plan("geo-partial-partial-0")
    pieces = pieces_in_order(job, plan, {"combine-all": (1, 1)})
    made_topics(kafka, job, pieces)
    until = (ads["here"].epoch_ms + (SECONDS - 1) * 1_000) // WINDOW_MS * WINDOW_MS
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        queries = {piece.name: begun(rt, job, piece, kafka, tmp_path) for piece in pieces}
        threads = sending(ads, "geo-partial", kafka)
        wait_until(lambda: out.last_end > 0, "a first window", queries["geo-partial-g1-sink-0"])
        task = next(piece for piece in pieces if piece.stages == ("combine-all",) and piece.part == 1)
        queries[task.name].stop()
        begun(rt, job, task, kafka, tmp_path)
        wanted = truth(ads, until)  # of both tasks: one may be seconds behind the other
        wait_until(lambda: len(out.up_to(until)) >= len(wanted), "all windows", queries["geo-partial-g1-sink-0"])
        for thread in threads:
            thread.join(10)
    assert out.up_to(until) == wanted and len(wanted) > 50


def test_rows_without_state_pass_all_sites_and_none_is_lost(spark: Any, kafka: str, tmp_path: Path) -> None:
    ads = shown(soon())
    seen: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def sink(name: str) -> Any:
        def write(batch: Any, number: int) -> None:
            rows = batch.selectExpr("unix_millis(at) as at", "campaign_id").collect()
            seen[name, number] = [(int(r.at), int(r.campaign_id)) for r in rows]

        return write

    job = job_of("geo-rows", ads, sink, aggregated=False)
    pieces = pieces_in_order(job, job.plans[0], {"union": (0, 1)})
    made_topics(kafka, job, pieces)
    until = ads["here"].epoch_ms + 3_000
    with hw.Runtime(spark, journal=tmp_path / "j.db") as rt:
        queries = [begun(rt, job, piece, kafka, tmp_path) for piece in pieces]
        sending(ads, "geo-rows", kafka)

        def counted() -> int:
            return sum(at < until for rows in list(seen.values()) for at, _ in rows)

        wanted = sum(truth_of_rows(one, until) for one in ads.values())
        wait_until(lambda: counted() >= wanted, "all rows", queries[-1])
    assert counted() == wanted > 50


def truth_of_rows(one: Ysb, until: int) -> int:
    """Views before a moment: those of windows that end by then, and of the one that it is in."""
    cut = Ysb(one.seed, one.rate, one.epoch_ms, one.delay, window_ms=1_000, offset_ms=until % 1_000)
    return sum(views for (end, _), views in cut.truth(until).items() if end <= until)
