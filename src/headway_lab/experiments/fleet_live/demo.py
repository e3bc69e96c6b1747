"""`headway demo fleet`: queries wake up on one node, a program eats another one's share, and the fleet relieves both."""

import signal
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live

from headway.cli import arguments
from headway.errors import HeadwayError
from headway_lab.experiments.fleet_live import page as fleet_page
from headway_lab.experiments.fleet_live.scenes import HOG_CORES, scene
from headway_lab.experiments.fleet_live.stage import FleetStage, StagePlan
from headway_lab.experiments.fleet_live.story import FleetStory
from headway_lab.experiments.fleet_live.watch import FleetSample, moves_in
from headway_lab.harness import screen
from headway_lab.harness.bench import let_pass
from headway_lab.harness.options import at_least
from headway_lab.workloads.wall_clock import now_ms

POLICY = "prediction-rings"
CALM_S, SETTLE_S = 12, 30


def fleet(
    seconds: Annotated[int, typer.Option(help="For each of both troubles.")] = 60,
    policy: Annotated[str, typer.Option(help="prediction-rings, least-loaded, never-move ...")] = POLICY,
    out: Annotated[Path, typer.Option(help="Folder for the page.")] = Path("headway-report"),
) -> None:
    """Three Spark applications with twelve queries: an imbalance and a program that eats, relieved before your eyes.

    It takes some five minutes, and 3 GB of memory. Where control groups can be made (Linux, root), each node is limited
    to 0.6 of a core, and the program takes from one node alone; elsewhere there is only the imbalance.
    """
    at_least(5, seconds=seconds)
    plan = StagePlan()
    plan.policy(policy)
    arguments.new_file("out", out / "fleet.html" if out.is_dir() else out)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `headway fleet down` asks so
    story = FleetStory(plan)
    stage = _stage(plan)
    with stage:
        story.plan = stage.plan
        _play(stage, story, policy, seconds)
        story.moves = [move for move in moves_in(stage.fleet.folder) if move.at_ms >= story.scenes[0][0]]
    screen.out.print(fleet_page.summary(story))
    out.mkdir(exist_ok=True)
    path = out / "fleet.html"
    path.write_text(fleet_page.page(story, policy), "utf-8")
    screen.out.print(f"Page: {path}", soft_wrap=True)


def _stage(plan: StagePlan) -> FleetStage:
    def say(text: str) -> None:
        screen.err.print(text, highlight=False)

    stage = FleetStage(plan, say)
    try:
        stage.limits()
    except HeadwayError as error:
        say(f"{error}: nodes are not limited, and nothing is disturbed from outside")
        return FleetStage(replace(plan, limited=False), say)
    return stage


def _play(stage: FleetStage, story: FleetStory, policy: str, seconds: int) -> None:
    played = scene("internal", False, stage.queries, stage.fleet.nodes)
    story.heavy = played.heavy
    screen.err.print(f"the fleet serves; {len(stage.queries)} queries start", highlight=False)
    stage.submit(played.places)
    stage.warm(SETTLE_S, lambda what, left_s: None)
    stage.rest()
    stage.limit(True)
    stage.send(())
    stage.decide_by(policy)
    with Live(console=screen.out, auto_refresh=False, transient=True) as live:

        def show(sample: FleetSample) -> None:
            if story.scenes:
                story.samples.append(sample)
                if screen.out.is_terminal:
                    live.update(fleet_page.live(story), refresh=True)

        stage.watch.seen = show
        _scene(story, "calm", CALM_S)
        stage.send(played.heavy)
        _scene(story, f"six queries on {stage.fleet.nodes[0]} wake up", seconds)
        if story.plan.limited:
            story.disturbed = _busiest(story)
            end = stage.disturb(story.disturbed, HOG_CORES, seconds + 60)
            _scene(story, f"a program eats beside {story.disturbed}", seconds)
            end()


def _scene(story: FleetStory, what: str, seconds: int) -> None:
    story.scenes.append((now_ms(), what))
    if not screen.out.is_terminal:
        screen.err.print(f"{what} ({seconds} s)", highlight=False)

    def say(what: str, left_s: float) -> None:
        story.left_s = left_s

    let_pass(what, seconds, say)


def _busiest(story: FleetStory) -> str:
    """The node with the most heavy queries: it hurts there."""
    homes = story.samples[-1].homes
    counts = Counter(homes[query] for query in story.heavy if query in homes)
    return min(counts, key=lambda node: (-counts[node], node))
