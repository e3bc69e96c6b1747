"""The advice as a page and as text."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from headway.advice.advice import AdviceItem, share, span
from headway.advice.checks import CHECKS, examined
from headway.advice.checks.watermark import could_be
from headway.advice.checks.windows import waits
from headway.advice.history import JobHistory
from headway.advice.saving import Saving, saving

TWO_LINES = (
    'rows = rt.watermark(events, "event_time", "DELAY")   # instead of events.withWatermark("event_time", "DELAY")\n'
    'rt.start(writer, name="NAME")                        # instead of writer.start()'
)


@dataclass(frozen=True)
class Advice:
    """All that is said of a job."""

    job: JobHistory
    items: tuple[AdviceItem, ...]
    saving: Saving | None

    @classmethod
    def on(cls, job: JobHistory) -> "Advice":
        return cls(job, examined(job), saving(job))

    def summary(self) -> str:
        queries, batches = len(self.job.queries), sum(len(query.reports) for query in self.job.queries)
        seconds = max((query.seconds for query in self.job.queries), default=0.0)
        cores = "" if self.job.cores is None else f" on {self.job.cores} cores"
        found = f"{len(self.items)} things to look at" if self.items else "nothing to complain of"
        return f"{queries} queries{cores}, {batches} batches in {span(seconds * 1000)}: {found}."

    def outlook(self) -> str:
        """What Headway would spare, and how far to believe it."""
        said = self.saving
        if said is None:
            return (
                "What Headway would spare cannot be said: that takes twenty windows, ten batches of each query, the"
                " windows and delays of the queries, and the number of cores."
            )
        if abs(said.error) > 0.5:
            return (
                f"What Headway would spare cannot be said: windows came out after {span(said.seen_ms)}, and the"
                f" simulator says {span(said.again_ms)}, so it does not know this job."
            )
        return (
            f"Windows come out {span(said.seen_ms)} after their end and delay, on average over {said.windows}; the"
            f" simulator says {span(said.again_ms)} ({said.error:+.0%}), and {span(said.headway_ms)} with Headway, with"
            f" {share(said.batches)} of the batches."
        )

    def text(self) -> str:
        lines = [self.summary(), ""]
        for item in self.items:
            lines += [f"[{item.weight}] {item.query}: {item.says}  ({item.check})"]
            lines += [f"    seen: {one}" for one in item.evidence]
            lines += [f"    do:   {item.do}", ""]
        lines += [self.outlook()]
        if self._pays():
            lines += ["", "Two lines change:", *(f"    {line}" for line in TWO_LINES.splitlines())]
        return "\n".join(lines)

    def page(self) -> str:
        items = "".join(map(_item, self.items)) or "<p>Nothing to complain of.</p>"
        lines = f"<h2>Two lines change</h2><pre>{escape(TWO_LINES)}</pre>" if self._pays() else ""
        return (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Headway: advice</title><style>{_STYLE}</style>'
            f"<h1>Advice on your streaming queries</h1><p>{escape(self.summary())}</p>{items}"
            f"<h2>With Headway</h2><p>{escape(self.outlook())}</p>{lines}"
            f"<h2>What was looked at</h2>{self._queries()}<p>Checks: {escape(', '.join(CHECKS))}.</p></html>"
        )

    def _pays(self) -> bool:
        said = self.saving
        return said is not None and abs(said.error) <= 0.5 and said.headway_ms < 0.8 * said.seen_ms

    def _queries(self) -> str:
        rows: list[Sequence[str]] = []
        for query in self.job.queries:
            found = [wait for _, wait in waits(query)]
            late = span(sum(found) / len(found)) if found else "not known"
            mean = sum(r.took_ms for r in query.reports) / max(1, len(query.reports))
            could = next(iter(could_be(query)), "not known")
            read = str(sum(r.rows for r in query.reports))
            rows.append((query.name, str(len(query.reports)), read, span(mean), late, could))
        head = ("query", "batches", "rows", "a batch takes", "a window waits", "what its delay could be")
        lines = ["".join(f"<th>{name}</th>" for name in head)]
        lines += ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
        return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def _item(item: AdviceItem) -> str:
    seen = "".join(f"<li>{escape(one)}</li>" for one in item.evidence)
    return (
        f'<section class="{item.weight}"><h3>{escape(item.query)}: {escape(item.says)}</h3><ul>{seen}</ul>'
        f"<p><b>Do:</b> {escape(item.do)}</p><small>{item.check}, {item.weight}</small></section>"
    )


_STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
section { border: 1px solid var(--line); border-left-width: 6px; border-radius: 6px; }
section { padding: .2rem 1rem .6rem; margin: 1rem 0; }
section h3 { margin: .5rem 0; font-size: 1rem; } section ul { margin: .2rem 0; }
.high { border-left-color: #d43; } .medium { border-left-color: #e90; } .low { border-left-color: #58c; }
table { border-collapse: collapse; } td, th { border-bottom: 1px solid var(--line); padding: .2rem .8rem; text-align: left; }
pre { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; padding: .6rem; } small { opacity: .7; }
"""
