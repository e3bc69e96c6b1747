"""The job of the experiment: views per campaign over the sites that SITES names, into a folder."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.wan.job import GeoJob
from headway.wan.plan import FilterRows, GeoQuery, GeoSource, MapRows, MergedValue, WindowAggregate

SITES = os.environ["SITES"].split(",")
RESULTS = Path(os.environ["RESULTS"])
ROW_BYTES = 330  # between sites: names of campaigns are long, so that few rows fill a link
NAME = "concat('campaign ', int(ad_id) div 10, ' ', repeat('.', 240)) as campaign"


def deliver(query: str) -> Callable[[Any, int], None]:
    """A batch that is delivered again takes its own place."""
    RESULTS.mkdir(parents=True, exist_ok=True)

    def write(batch: Any, number: int) -> None:
        rows = batch.selectExpr(
            "unix_millis(window_end) as until", "int(split(campaign, ' ')[1]) as campaign", "views"
        ).collect()
        half = RESULTS / f".{query}-{number}.half"
        half.write_text(json.dumps([row.asDict() for row in rows]))
        half.replace(RESULTS / f"{query}-{number}.json")

    return write


query = GeoQuery(
    "views",
    sources=tuple(GeoSource(f"ads-{site}", site, row_bytes=200) for site in SITES),
    steps=(
        FilterRows(keep=1 / 3, reads=("event_type",), where="event_type = 'view'"),
        MapRows(row_bytes=ROW_BYTES, select=(NAME,)),
    ),
    last=WindowAggregate(
        int(os.environ["WINDOW_MS"]), keys=100, row_bytes=ROW_BYTES, state_mb=0.1, by=("campaign",),
        values=(MergedValue("views", row="1"),), partial=os.environ.get("PARTIAL") == "yes",
    ),
    sink_site=SITES[0],
)  # fmt: skip
job = GeoJob(
    query,
    schema="event_ms bigint, ad_id string, event_type string",
    time="timestamp_millis(event_ms)",
    sink=deliver,
    idle_after="10 seconds",
)
