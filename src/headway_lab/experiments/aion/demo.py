"""`headway demo approximate`: the same question asked of all rows and of a sample, side by side."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live

from headway.cli import arguments
from headway.errors import SettingError
from headway.policy.sampling import Aion
from headway_lab.experiments.aion import page as approximate_page
from headway_lab.experiments.aion.command import told_trips
from headway_lab.experiments.aion.demo_run import Plan, Played, play
from headway_lab.experiments.aion.run import LEAD_S, SETTLE_S, LiveCase
from headway_lab.harness import screen
from headway_lab.workloads.approximate import WORKLOADS, setting_named


def approximate(
    seconds: Annotated[int, typer.Option(help="How long windows are counted.")] = 45,
    workload: Annotated[str, typer.Option(help="ysb, taxi or kmeans.")] = "taxi",
    setting: Annotated[str, typer.Option(help="CC, GG, EC or EG: delay and gaps constant, gamma, exponential.")] = "EG",
    rate: Annotated[int, typer.Option(help="Events per second.")] = 5_000,
    window: Annotated[int, typer.Option(help="Seconds that windows are long; a multiple of three.")] = 3,
    error: Annotated[float, typer.Option(help="How far an answer may be off, relatively, in 19 windows of 20.")] = 0.05,
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("headway-report"),
    seed: Annotated[int, typer.Option(help="Decides what is drawn by chance.")] = 1,
    memory: Annotated[str, typer.Option(help="Memory of the driver.")] = "4g",
    cores: Annotated[int | None, typer.Option(help="Cores for Spark; all of them unless told.")] = None,
) -> None:
    """Exact answers wait for the slowest row. How far off is an answer that waits for none, from a part of the rows?"""
    one_answer = [name for name, kind in WORKLOADS.items() if kind.per is None]  # for each window
    if workload not in one_answer:
        raise SettingError("workload", workload, f"one of {', '.join(one_answer)}")
    setting_named(setting)
    arguments.at_least("rate", rate, 1)
    if window < 1 or window % 3:
        raise SettingError("window", window, "a multiple of 3 s: sub-streams of 600 ms must fill it")
    arguments.at_least("seconds", seconds, window)
    Aion(error)
    arguments.new_file("out", out / "approximate.html" if out.is_dir() else out)
    plan = Plan(LiveCase(workload, setting, rate, window), seconds, error, seed)
    with (
        screen.spark_session("headway-approximate", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark,
        tempfile.TemporaryDirectory(prefix="headway-approximate-", ignore_cleanup_errors=True) as folder,
    ):
        told_trips([plan.case])
        screen.err.print(f"{plan.case}: some {LEAD_S + SETTLE_S} s to settle, then windows count", highlight=False)
        with Live(console=screen.out, auto_refresh=False, transient=True) as live:

            def show(played: Played, now_ms: int) -> None:
                if screen.out.is_terminal:
                    live.update(approximate_page.table(played, now_ms), refresh=True)

            played = play(spark, plan, Path(folder), show)
    _show(played, out)


def _show(played: Played, out: Path) -> None:
    screen.out.print(approximate_page.summary(played))
    out.mkdir(exist_ok=True)
    path = out / "approximate.html"
    path.write_text(approximate_page.page(played), "utf-8")
    screen.out.print(f"Page: {path}", soft_wrap=True)
    screen.out.print(approximate_page.words(played), soft_wrap=True, highlight=False)
