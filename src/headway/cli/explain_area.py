"""Why a pipeline runs on the sites that it runs on, out of the journal of a wide-area controller."""

from collections.abc import Iterator

from headway.cli.screen import clock
from headway.dashboard.area_words import area_words, placed
from headway.loop.journal import JournalReader
from headway.loop.kernel import Entry
from headway.loop.questions.adaptation import ADAPTATION
from headway.model.adaptation import Replan
from headway.model.time import WallMs


def area_account(journal: JournalReader, pipeline: str, at: WallMs | None = None) -> Iterator[str]:
    """The story of the newest decision about this pipeline, or of the newest by `at`; nothing if there is none."""
    found = None
    for entry in journal.entries(ADAPTATION):
        if entry.scope == pipeline and (at is None or entry.at <= at):
            found = entry
    if found is not None:
        yield from _told(pipeline, found)


def _told(pipeline: str, entry: Entry) -> Iterator[str]:
    decided, seen = entry.decided, entry.seen
    yield f"{pipeline} at {clock(entry.at, date=True)}"
    yield f"  decided   {area_words(decided)}; {entry.receipt}"
    yield f"  why       {decided.because}"
    if entry.proposed != decided:
        yield f"  but       the policy wished otherwise, and a guard changed it: {entry.proposed.because}"
    yield f"  policy    {entry.policy}"
    if entry.memory is not None and entry.memory.says:
        yield f"  before    {entry.memory.says}"
    expect = decided.expect
    if expect is not None:
        gap = "" if expect.gap is None else f", at most {expect.gap:.1%} worse than the best placement"
        yield (
            f"  expected  {expect.stage} processes {expect.at_least:,.0f} rows/s by {clock(expect.by)}; out of service for"
            f" {expect.takes_s:.1f} s; {expect.network_ms:,.0f} ms of network, {expect.usd_h:.2f} dollars an hour{gap}"
        )
    for move in decided.moves:
        yield (
            f"  state     {move.stage}: {move.megabytes:.1f} MB from {move.source} to {move.target},"
            f" {move.seconds:.1f} s"
        )  # fmt: skip
    plan = decided.plan if isinstance(decided, Replan) else seen.plan
    for stage, where in placed(plan, decided.deployed or seen.deployed, seen):
        yield f"  runs      {stage}: {where}"
    for rates in seen.rates:
        yield (
            f"  rates     {rates.stage}: {rates.arrived:,.0f} arrive, {rates.processed:,.0f} processed,"
            f" {rates.emitted:,.0f} sent on a second; {rates.waiting:,.0f} rows wait"
        )
