"""Views per campaign in windows of 5 s, of ads that are shown at three sites with thin links between them.

    headway wan up --sites frankfurt,ohio,tokyo --bandwidth 4
    headway wan run examples/wide_area.py

The rows of a site are in the topic `ads-SITE` of its own broker, as JSON. Results go to the first site, into the folder
RESULTS: a file for each batch, so that a batch that is delivered again takes its own place.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.wan.job import GeoJob
from headway.wan.plan import FilterRows, GeoQuery, GeoSource, MapRows, MergedValue, WindowAggregate

SITES = os.environ.get("SITES", "frankfurt,ohio,tokyo").split(",")
RESULTS = Path(os.environ.get("RESULTS", "results"))
SCHEMA = "event_ms bigint, ad_id string, event_type string"


def deliver(query: str) -> Callable[[Any, int], None]:
    RESULTS.mkdir(parents=True, exist_ok=True)

    def write(batch: Any, number: int) -> None:
        rows = batch.selectExpr("unix_millis(window_end) as until", "campaign", "views").collect()
        half = RESULTS / f".{query}-{number}.half"
        half.write_text(json.dumps([row.asDict() for row in rows]))
        half.replace(RESULTS / f"{query}-{number}.json")

    return write


job = GeoJob(
    GeoQuery(
        "views",
        sources=tuple(GeoSource(f"ads-{site}", site, row_bytes=200) for site in SITES),
        steps=(
            FilterRows(keep=1 / 3, reads=("event_type",), where="event_type = 'view'"),
            MapRows(row_bytes=90, select=("int(ad_id) div 10 as campaign",)),
        ),
        last=WindowAggregate(
            int(os.environ.get("WINDOW_MS", "5000")), keys=100, row_bytes=90, state_mb=0.1, by=("campaign",),
            values=(MergedValue("views", row="1"),), partial=os.environ.get("PARTIAL", "yes") == "yes",
        ),
        sink_site=SITES[0],
    ),
    schema=SCHEMA,
    time="timestamp_millis(event_ms)",
    sink=deliver,
    idle_after="10 seconds",
)  # fmt: skip
