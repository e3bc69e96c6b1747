"""`headway wan run`: a geo pipeline on the sites of the testbed, with a controller that adapts it."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.live import Live
from rich.table import Table
from rich.text import Text

from headway.cli import arguments, extras, screen
from headway.dashboard.area_words import area_words
from headway.errors import HeadwayError, SettingError
from headway.kafka import jars
from headway.loop.journal import Journal
from headway.loop.journal_file import state_folder
from headway.loop.questions.adaptation import Calm
from headway.policy.load import policy_of
from headway.wan.area_run import AreaRun, AreaRunSettings, checked_job
from headway.wan.control.controller import AreaPace
from headway.wan.held_sites import HeldSites
from headway.wan.site_servers import SiteSize
from headway.wan.testbed import WanTestbed

HELD = "wan-held"  # the note of sites that are held down
LOOK_S = 1.0
USD_PER_GB = 0.02  # what a gigabyte costs that crosses a link, unless told
PLAIN_EVERY = 5  # looks between two tables where there is no terminal
Look = Annotated[float, typer.Option(help="Seconds between two questions about where stages run.")]


def run(
    file: Annotated[Path, typer.Argument(help="A Python file with `job = GeoJob(...)`.")],
    policy: Annotated[str, typer.Option(help="wasp, no-adapt, re-assign-only, scale-only, re-plan-only.")] = "wasp",
    round: Look = 40.0,
    spike: Annotated[float, typer.Option(help="Seconds that a stage may lag before anything changes.")] = 30.0,
    settle: Annotated[float, typer.Option(help="Seconds after a change before the next.")] = 40.0,
    slots: Annotated[int, typer.Option(help="Tasks that each site has room for.")] = 3,
    memory: Annotated[str, typer.Option(help="Memory of the driver of each site.")] = "768m",
    usd_per_gb: Annotated[float, typer.Option(help="What a gigabyte costs that crosses a link.")] = USD_PER_GB,
    rate: Annotated[
        list[str] | None, typer.Option(help="SOURCE=ROWS a second at first, if not to be measured; may be given again.")
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="For how long; else until Ctrl-C.")] = None,
    journal: Annotated[Path | None, typer.Option(help="Where to write every decision down.")] = None,
    folder: Annotated[Path | None, typer.Option(help="For checkpoints, logs and the record; kept afterwards.")] = None,
) -> None:
    """Run a pipeline over the sites of `headway wan up`, until Ctrl-C: then every piece stops between two batches."""
    extras.require("wan run", "wan", extras.WAN)
    bed = WanTestbed.load(state_folder() / "wan.json")
    if bed is None or not bed.alive:
        raise HeadwayError("no testbed runs: `headway wan up` starts one")
    job = checked_job(file, bed)
    decides = policy_of("adaptation", policy)
    for key, value in (("round", round), ("slots", slots)):
        arguments.at_least(key, value, 1)
    pace = AreaPace(round_ms=int(round * 1000), calm=Calm(int(spike * 1000), int(settle * 1000)))
    size = SiteSize(slots=slots, memory=arguments.memory(memory))
    settings = AreaRunSettings(decides, pace, size, usd_per_gb, _rates(rate or []), HeldSites(state_folder() / HELD))
    assert job.query.sink_site is not None
    _enter(bed, job.query.sink_site)
    kept = state_folder() / f"wan-{job.query.name}.db" if journal is None else arguments.new_file("journal", journal)
    place = folder or state_folder() / f"wan-{os.getpid()}"
    place.mkdir(parents=True, exist_ok=True)
    log = Journal(kept)
    try:
        with AreaRun(bed, file, place, log, settings, _say) as running:
            _watch(running, seconds)
    except KeyboardInterrupt:
        pass
    finally:
        log.close()
    _say(f"stopped; the journal is {kept}, checkpoints and logs are in {place}")


def _enter(bed: WanTestbed, site: str) -> None:
    """Become a process of that site. What has to be fetched is fetched before: a site has no way out."""
    if bed.entered(site):
        return
    jars.fetched(jars.BROKER)
    jars.connector()
    command = bed.command(site, sys.executable, "-m", "headway", *sys.argv[1:])
    sys.stdout.flush()
    os.execvp(command[0], command)


def _watch(running: AreaRun, seconds: float | None) -> None:
    end = None if seconds is None else time.monotonic() + seconds
    looks = 0
    with Live(console=screen.out, auto_refresh=False, transient=True) as live:
        while end is None or time.monotonic() < end:
            running.look()
            if screen.out.is_terminal:
                live.update(_table(running), refresh=True)
            elif looks % PLAIN_EVERY == 0:
                screen.out.print(_table(running))
            looks += 1
            time.sleep(LOOK_S)


def _table(running: AreaRun) -> Table:
    """Stages, where they run, and what passes them."""
    area = running.controller
    record, seen = area.record.current, area.sight.rates()
    table = Table(box=box.SIMPLE_HEAD)
    for head in ("stage", "sites", "state"):
        table.add_column(head, no_wrap=True)
    for head in ("rows/s in", "out", "waiting"):
        table.add_column(head, justify="right", no_wrap=True)
    rates = {} if seen is None else {one.stage: one for one in seen.rates(area.sight.meter.full_now())}
    for stage in area.plan.stages:
        placed = [one for one in record.pieces if stage.name in one.piece.stages]
        sites = ", ".join(one.now.site for one in placed)
        state = "runs" if all(one.begun for one in placed) else "moves" if any(one.moving for one in placed) else "begins"
        found = rates.get(stage.name)
        figures = ("-", "-", "-") if found is None else (found.processed, found.emitted, found.waiting)
        table.add_row(stage.name, sites, state, *(one if isinstance(one, str) else f"{one:,.0f}" for one in figures))
    full = ", ".join(f"{a} -> {b}" for a, b in sorted(area.sight.meter.full_now())) or "none"
    until = area.delivered()
    lag = "-" if until is None else f"{time.time() - until / 1000:,.1f} s"
    last = area.actuator.last
    told = "nothing was asked yet" if last is None else f"{area_words(last)}: {last.because}"
    caption = (
        f"plan {record.plan} (generation {record.number}); results are {lag} behind; full links: {full}; "
        f"{running.wan_bytes / 1e6:,.1f} MB over links, {running.dollars:.4f} dollars\n{told}"
    )
    table.caption = Text(caption)
    return table


def _rates(texts: list[str]) -> dict[str, float]:
    found = {}
    for text in texts:
        name, equals, rows = text.partition("=")
        try:
            found[name] = float(rows)
        except ValueError:
            found[name] = -1.0
        if not equals or not found[name] >= 0:
            raise SettingError("rate", text, "SOURCE=ROWS, such as ads-ohio=500")
    return found


def _say(line: str) -> None:
    screen.err.print(line, highlight=False, soft_wrap=True)
