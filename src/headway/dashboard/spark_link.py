"""Where Spark's own pages show one batch: its SQL execution where that is known, else the statistics of its query's run.

Spark is asked when somebody follows the link, and never before. It forgets executions: by default it keeps a thousand.
"""

import json
import re
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from headway.errors import HeadwayError
from headway.model.status import QueryStatus

ANSWER_S = 3.0
MOST_BYTES = 20_000_000
MOST_EXECUTIONS = 5_000
_SAYS = re.compile(r"\b(id|runId|batch) = ([\w-]+)")


class NotInSpark(HeadwayError):
    """Spark's own pages do not show this query: they are off, or the runtime has ended."""


def statistics(ui: str, run: str | None) -> str:
    """The page of a run; nothing where there is none."""
    if run is None or not ui.startswith(("http://", "https://")):
        return ""
    return f"{ui.rstrip('/')}/StreamingQuery/statistics/?id={run}"


def batch_page(ui: str, status: QueryStatus | None, batch: int) -> str:
    """The address to go to."""
    whole = "" if status is None else statistics(ui, status.run)
    if status is None or not whole:
        raise NotInSpark("Spark's own pages do not show this query: the runtime has ended, or spark.ui.enabled is false")
    found = None
    try:
        for app in _asked(f"{ui.rstrip('/')}/api/v1/applications"):
            some = f"details=false&planDescription=false&offset=0&length={MOST_EXECUTIONS}"
            place = f"{ui.rstrip('/')}/api/v1/applications/{urllib.parse.quote(str(app['id']))}/sql?{some}"
            found = execution_of(_asked(place), str(status.id), batch)
    except (OSError, ValueError, KeyError, TypeError):  # behind a proxy, or busy: the statistics page is known anyway
        found = None
    return whole if found is None else f"{ui.rstrip('/')}/SQL/execution/?id={found}"


def execution_of(executions: list[dict[str, Any]], query: str, batch: int) -> int | None:
    """The first execution of this batch, of the newest run that had it: what its sink ran within it comes after."""
    by_run: dict[str, int] = {}
    for one in executions:
        said = dict(_SAYS.findall(str(one.get("description", ""))))
        if said.get("id") == query and said.get("batch") == str(batch):
            by_run.setdefault(said.get("runId", ""), int(one["id"]))
    return max(by_run.values(), default=None)


def _asked(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=ANSWER_S) as answer:
        return json.loads(answer.read(MOST_BYTES))
