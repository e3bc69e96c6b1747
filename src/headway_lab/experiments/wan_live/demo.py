"""`headway demo wan`: sites with thin links; one link halves and all rates double, and the pipeline is placed anew."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.live import Live

from headway.cli import arguments
from headway.policy.load import policy_of
from headway.spark.shown import DashboardProcess
from headway.wan import testbed
from headway_lab.experiments.wan_live import page as area_page
from headway_lab.experiments.wan_live.disturbance import SITES, Disturbance, WanLiveCase, sleep_until
from headway_lab.experiments.wan_live.staged import USD_PER_GB, pipeline, sender
from headway_lab.experiments.wan_live.watch import AreaStory, AreaWatch, changes_in
from headway_lab.harness import screen
from headway_lab.harness.options import at_least
from headway_lab.workloads.wall_clock import now_ms

POLICY, SEED = "wasp", 1


def wan(
    calm: Annotated[int, typer.Option(help="Seconds before anything happens.")] = 45,
    seconds: Annotated[int, typer.Option(help="After that.")] = 120,
    policy: Annotated[str, typer.Option(help="wasp, no-adapt, re-assign-only, scale-only, re-plan-only.")] = POLICY,
    kbit: Annotated[int, typer.Option(help="Of each link, a second.")] = 900,
    rate: Annotated[int, typer.Option(help="Rows a second of each site at first.")] = 300,
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("headway-report"),
) -> None:
    """Three sites with a Spark and a Kafka each: a link halves and rates double before your eyes. Five minutes, 4 GB."""
    at_least(10, calm=calm, seconds=seconds)
    at_least(1, rate=rate)
    at_least(128, kbit=kbit)
    policy_of("adaptation", policy)
    arguments.new_file("out", out / "wan.html" if out.is_dir() else out)
    case = WanLiveCase(calm + seconds, calm, rate, kbit)
    story = AreaStory(SITES, USD_PER_GB, policy)
    with TemporaryDirectory(prefix="headway-wan-") as temp:
        _play(case, story, Path(temp))
        out.mkdir(exist_ok=True)
        shutil.copy(Path(temp, "journal.db"), out / "wan.db")
    screen.out.print(area_page.summary(story))
    path = out / "wan.html"
    path.write_text(area_page.page(story), "utf-8")
    screen.out.print(f"Page: {path}; `headway dashboard {out / 'wan.db'}` shows every decision again", soft_wrap=True)


def _play(case: WanLiveCase, story: AreaStory, folder: Path) -> None:
    bed = testbed.up(SITES, case.kbit * 1_000, ends_with_parent=True)
    try:
        with pipeline(bed, case, story.policy, folder, _say):
            shown = DashboardProcess(folder / "journal.db", ["--port", "0"])
            try:
                _say(f"the dashboard is at {shown.address}, page Wide area")
                _scenes(case, story, folder, bed)
            finally:
                shown.close()
    finally:
        bed.down()
    story.changes = changes_in(folder / "journal.db")


def _scenes(case: WanLiveCase, story: AreaStory, folder: Path, bed: testbed.WanTestbed) -> None:
    def say(text: str) -> None:
        story.scenes.append((now_ms(), text))
        if not screen.out.is_terminal:
            _say(text)

    with Live(console=screen.out, auto_refresh=False, transient=True) as live:

        def show() -> None:
            if screen.out.is_terminal and story.scenes:
                live.update(area_page.live(story), refresh=True)

        watch = AreaWatch(bed, folder, story, show)
        epoch = now_ms() + 3_000
        sent = [case.streams(n, SEED, epoch) for n in range(len(SITES))]
        senders = [sender(bed, site, streams, folder) for site, streams in zip(SITES, sent, strict=True)]
        try:
            say("calm")
            watch.start()
            Disturbance(bed, case, folder / "state", say).play(epoch)
            sleep_until(epoch + case.seconds * 1_000)
        finally:
            watch.close()
            for one in senders:
                one.kill()


def _say(text: str) -> None:
    screen.err.print(text, highlight=False, soft_wrap=True)
