"""The sink of the last stage: what came out, and when."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway_lab.harness.file_sink import Written
from headway_lab.workloads.wall_clock import now_ms


def stamped_writer(folder: Path) -> Callable[[Any, int], None]:
    """A batch's file is named by the batch, and appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)

    def write(batch: Any, number: int) -> None:
        rows = [(row["end"], row["campaign_id"], row["count"]) for row in batch.collect()]
        part = folder / f"{number}.part"
        part.write_text(json.dumps({"at": now_ms(), "rows": rows}))
        part.rename(folder / f"{number}.json")

    return write


def stamped(folder: Path) -> tuple[Written, dict[int, int]]:
    """All rows, and when the last row of each window came out, by its end."""
    rows: Written = []
    out: dict[int, int] = {}
    for file in sorted(folder.glob("*.json"), key=lambda f: int(f.stem)):
        said = json.loads(file.read_text())
        for end, campaign, count in said["rows"]:
            rows.append(((end, campaign), count))
            out[end] = said["at"]
    return rows, out
