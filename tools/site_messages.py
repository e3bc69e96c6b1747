"""The page with every message that a user can get, read off the code, so that none is missing."""

from pathlib import Path

import site_reading
import site_ways

SRC = Path(__file__).parents[1] / "src" / "headway"
ROOMS = {
    "spark": "In a job", "model": "Settings", "policy": "Policies", "estimate": "Policies", "loop": "Journals and decisions",
    "cli": "Commands", "servers": "Commands", "java": "Commands", "dashboard": "The dashboard", "advice": "Advice",
    "fleet": "The fleet", "wan": "The wide area", "kafka": "Kafka", "lease": "Leases", "pipeline": "Pipeline files",
    "merge": "The ordered merge", "transfer": "Folders on their way", "sim": "The simulator", "__init__": "Commands",
}  # fmt: skip
ALOUD = "Told while things go on"
HEAD = """# What went wrong?

What you can fix is told in one line, with exit code 2 on the command line: it names the setting, what it is, and the
way out; where the line itself does not, it stands behind it here. These are all of them; `…` stands for what differs.
What is told while things go on stands at the end.
By what you see instead: [troubleshooting](../howto/troubleshooting.md). A bug keeps its traceback, and a query that dies has
Spark's own error (exit code 1).
"""


def page() -> str:
    found, parts = messages(), [HEAD]
    for title in dict.fromkeys([*ROOMS.values(), ALOUD]):
        if told := found.get(title):
            parts += [f"## {title}\n", *map(_item, sorted(told)), ""]
    return "\n".join(parts)


def messages() -> dict[str, set[str]]:
    """By the part of the house that they come from; what stops nothing by itself."""
    found: dict[str, set[str]] = {}
    for path, told in site_reading.told_in(SRC).items():
        room = ROOMS.get(path.relative_to(SRC).with_suffix("").parts[0])
        if told and room is None:
            raise LookupError(f"{path} tells something, and its part of the house has no title")
        for one in told:
            found.setdefault(ALOUD if one.aloud else str(room), set()).add(one.text)
    return found


def _item(message: str) -> str:
    way = site_ways.way_out(message)
    return f"- `{message}`" + (f" - *{way}*" if way else "")
