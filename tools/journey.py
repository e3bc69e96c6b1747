"""The picture of one decision's journey, drawn from the table in `docs/architecture.md`: `python tools/journey.py`."""

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
STATION = re.compile(r"^\| (\d+) \| `([\w/]+\.py)` \|", re.MULTILINE)
WHAT = {
    "reports.py": "reads the last report",
    "progress.py": "makes it a value: BatchSeen",
    "inbox.py": "threads meet: one decides",
    "controller.py": "takes it in, and makes a turn",
    "tracker.py": "estimates: cost, rate, delay",
    "kernel.py": "see, decide, guard, act",
    "klink.py": "which query goes next",
    "leased_gate.py": "is the checkpoint its own?",
    "gate.py": "answers the query that waits",
    "lines.py": "over the query's own line",
    "control.py": "returns the control offset",
}
ROOMS = {  # left edge, top, how many stations, and whether the journey goes down or up in it
    "spark/listening": (40, 106, 2, 1),
    "loop": (40, 266, 4, 1),
    "policy": (520, 462, 1, 1),
    "spark/channel": (520, 106, 4, -1),
}
WIDE, HIGH, HEAD = 400, 48, 40
STYLE = """
  .page { fill: #ffffff } .room { fill: #f2f5f9; stroke: #b6c2d1 } .station { fill: #ffffff; stroke: #8a9bb0 }
  .spark { fill: #e8590c } text { font: 14px system-ui, sans-serif; fill: #1c2733 } .quiet { fill: #51606f; font-size: 13px }
  .name { font: 14px ui-monospace, monospace } .title { font-weight: 600 } .light { fill: #ffffff; font-weight: 600 }
  .way { fill: none; stroke: #1864ab; stroke-width: 2.5 } .tip { fill: #1864ab } .dot { fill: #1864ab }
  @media (prefers-color-scheme: dark) {
    .page { fill: #11181f } .room { fill: #1a242e; stroke: #3a4a5b } .station { fill: #22303d; stroke: #5a6d81 }
    text { fill: #e6edf3 } .quiet { fill: #a9b8c7 } .light { fill: #ffffff } .spark { fill: #c2410c }
    .way { stroke: #74c0fc } .tip { fill: #74c0fc } .dot { fill: #1971c2 }
  }
"""


def picture(stations: list[tuple[str, str]]) -> str:
    """The whole drawing: Spark above, down on the left, decided below, and up on the right."""
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 580" role="img">',
        "<title>The journey of one decision, from Spark's report to the control offset</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="tip" d="M0 0L10 5L0 10z"/></marker></defs>',
        '<rect class="page" width="960" height="580" rx="10"/>',
        *_spark(40, "Spark: a batch has ended"),
        *_spark(520, "Spark: its next batch runs"),
    ]
    for room, (x, y, many, _) in ROOMS.items():
        parts.append(f'<rect class="room" x="{x}" y="{y}" width="{WIDE}" height="{HEAD + many * HIGH}" rx="8"/>')
        parts.append(f'<text class="title" x="{x + 16}" y="{y + 25}">{room}/</text>')
    for (number, file), (x, y) in zip(stations, _places(), strict=True):
        parts += _station(x, y, number, file)
    return "\n".join([*parts, *_ways(), "</svg>\n"])


def _spark(x: int, text: str) -> Iterator[str]:
    yield f'<rect class="spark" x="{x}" y="24" width="{WIDE}" height="40" rx="8"/>'
    yield f'<text class="light" x="{x + WIDE // 2}" y="49" text-anchor="middle">{text}</text>'


def _places() -> Iterator[tuple[int, int]]:
    """Where each station stands, in the order of the journey."""
    for x, y, many, way in ROOMS.values():
        rows = range(many) if way > 0 else reversed(range(many))
        yield from ((x + 12, y + HEAD + row * HIGH - 4) for row in rows)


def _station(x: int, y: int, number: str, file: str) -> Iterator[str]:
    name = file.rpartition("/")[2]
    yield f'<rect class="station" x="{x}" y="{y}" width="{WIDE - 24}" height="{HIGH - 8}" rx="6"/>'
    yield f'<circle class="dot" cx="{x + 20}" cy="{y + 20}" r="11"/>'
    yield f'<text class="light" x="{x + 20}" y="{y + 25}" text-anchor="middle">{number}</text>'
    yield f'<text class="name" x="{x + 42}" y="{y + 25}"><title>{file}</title>{name}</text>'
    yield f'<text class="quiet" x="{x + 166}" y="{y + 25}">{WHAT[name]}</text>'


def _ways() -> Iterator[str]:
    """Between the rooms; within a room the numbers lead."""
    ways = {
        "M240 64V104": ("its report", 250, 90),
        "M240 242V264": ("BatchSeen", 250, 258),
        "M428 466H486V510H530": ("", 0, 0),
        "M530 526H472V478H430": ("", 0, 0),
        "M428 456H500V306H530": ("", 0, 0),
        "M720 106V66": ("the control offset", 730, 90),
    }
    for way, (text, x, y) in ways.items():
        yield f'<path class="way" d="{way}" marker-end="url(#tip)"/>'
        if text:
            yield f'<text class="quiet" x="{x}" y="{y}">{text}</text>'
    yield '<text class="quiet" x="520" y="376">The kernel shows the policy a snapshot of all queries,</text>'
    yield '<text class="quiet" x="520" y="398">gets a grant or a hold, asks the guards, acts, and writes</text>'
    yield '<text class="quiet" x="520" y="420">it down. The policy itself hands nothing on.</text>'


if __name__ == "__main__":
    found = STATION.findall((DOCS / "architecture.md").read_text("utf-8"))
    (DOCS / "pictures" / "journey.svg").write_text(picture(found), "utf-8")
