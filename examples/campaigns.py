"""Three advertisers' campaigns, views counted per window: a whole pipeline file.

    headway run examples/campaigns.py --seconds 20

Each function returns a writer that is not started yet; Headway starts them all under one policy.
"""

import time
from typing import Any

import headway as hw
from headway.sim.delays import Uniform
from headway_lab.workloads.events import events
from headway_lab.workloads.ysb import Ysb


def views_per_campaign(rt: hw.Runtime, spark: Any, seed: int, window_ms: int) -> Any:
    advertiser = Ysb(seed, rate=200, epoch_ms=int(time.time() * 1000), delay=Uniform(0, 500), window_ms=window_ms)
    views = events(spark, advertiser)  # a real job reads Kafka here
    marked = rt.watermark(views, "event_time", hw.patience.Fixed("500 ms"), arrival="arrival")
    return advertiser.counts(marked).writeStream.outputMode("append").format("memory")  # and writes a table here


@hw.query()
def books(rt: hw.Runtime, spark: Any) -> Any:
    return views_per_campaign(rt, spark, seed=1, window_ms=3_000)


@hw.query()
def music(rt: hw.Runtime, spark: Any) -> Any:
    return views_per_campaign(rt, spark, seed=2, window_ms=3_000)


@hw.query("games_by_the_second")
def games(rt: hw.Runtime, spark: Any) -> Any:
    return views_per_campaign(rt, spark, seed=3, window_ms=1_000)
