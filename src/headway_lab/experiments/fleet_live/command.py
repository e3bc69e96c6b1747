"""`headway bench fleet`: an imbalance and an external program on real nodes, under every placement policy in turn."""

import signal
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, get_args

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway_lab.experiments.fleet_live.run import ARMS, ArmPlan, play
from headway_lab.experiments.fleet_live.scenes import Scenario
from headway_lab.experiments.fleet_live.stage import FleetStage, StagePlan
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record, newest, origin
from headway_lab.harness.options import LedgerOption, at_least

EXPERIMENT = "fleet-live"
START_S, BETWEEN_S = 75.0, 35.0
SCENARIOS = get_args(Scenario)


def fleet(  # an argument for each option of the command
    scenarios: Annotated[str, typer.Option(help="internal, external, or both with a comma.")] = ",".join(SCENARIOS),
    arms: Annotated[str, typer.Option(help="Which of them take their turn.")] = ",".join(ARMS),
    seeds: Annotated[str, typer.Option(help="Each turns the nodes and the arms by one.")] = "1,2,3",
    seconds: Annotated[int, typer.Option(help="Of trouble, for each arm.")] = ArmPlan.seconds,
    judged: Annotated[int, typer.Option(help="So many of them, the last, are judged.")] = ArmPlan.judged,
    steady: Annotated[
        int, typer.Option(help="Seconds in place of those, for an arm in which nothing moves.")
    ] = ArmPlan.steady,
    settle: Annotated[int, typer.Option(help="Seconds before the first arm, for the JVMs to get warm.")] = 30,
    resume: Annotated[bool, typer.Option(help="Pass over what this commit has in the ledger already.")] = True,
    ledger: LedgerOption = LEDGER,
) -> None:
    """Three nodes on parts of a core, twelve queries; every arm begins alike, and has the same rates.

    It takes Linux and root: control groups make three machines out of two cores.
    """
    chosen = _chosen("scenarios", scenarios, SCENARIOS), _chosen("arms", arms, ARMS)
    numbers, book = arguments.wholes("seeds", seeds, least=0), Ledger(ledger)
    at_least(1, judged=judged)
    at_least(judged + 2, seconds=seconds, steady=steady)
    at_least(0, settle=settle)
    turns = [
        (seed, plan, arm)
        for seed in numbers
        for plan in (ArmPlan(scenario, seconds, judged, steady) for scenario in chosen[0])
        for arm in _turned(chosen[1], seed)
        if not (resume and _has(book, _setting(plan), arm, seed))
    ]
    if turns:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # `headway fleet down` asks so
        _measure(turns, settle, book)
    records = [r for r in newest(book.records()) if r["experiment"] == EXPERIMENT and r["commit"] == origin()["commit"]]
    for scenario in chosen[0]:
        screen.out.print(_table(scenario, [r for r in records if r["setting"]["scenario"] == scenario]))


def _measure(turns: Sequence[tuple[int, ArmPlan, str]], settle: int, book: Ledger) -> None:
    expected = [START_S + settle, *(BETWEEN_S + plan.lasts(arm) for _, plan, arm in turns)]
    with screen.ProgressBar(expected) as bar:
        bar.begin("three nodes start, with twelve queries")
        with FleetStage(StagePlan(), lambda text: bar.say(text, 0.0)) as stage:
            stage.submit({query: stage.fleet.nodes[row % len(stage.fleet.nodes)] for row, query in enumerate(stage.queries)})
            stage.warm(settle, bar.say)
            bar.end()
            for seed, plan, arm in turns:
                bar.begin(f"seed {seed}, {plan.scenario}, {arm}")
                found, _ = play(stage, arm, plan, seed, bar.say)
                book.append(EXPERIMENT, arm, _setting(plan), seed, found)
                bar.end()


def _setting(plan: ArmPlan) -> dict[str, Any]:
    stage = StagePlan()
    return asdict(plan) | {"nodes": stage.nodes, "queries": stage.queries, "cores": stage.cores, "heavy": stage.heavy}


def _has(book: Ledger, setting: dict[str, Any], arm: str, seed: int) -> bool:
    return any(r["policy"] == arm and r["seed"] == seed for r in book.of_this_commit(EXPERIMENT, [setting]))


def _chosen(key: str, text: str, known: Sequence[str]) -> list[Any]:
    names = text.split(",")
    for name in names:
        if name not in known:
            raise SettingError(key, name, f"one of {', '.join(known)}")
    return names


def _turned(items: list[str], by: int) -> list[str]:
    by %= len(items)
    return [*items[by:], *items[:by]]


def _table(scenario: str, records: Sequence[Record]) -> Table:
    made = Table(title=f"{scenario}: the last part of each arm", title_justify="left")
    for head in ("arm", "seed", "rows/s", "sent/s", "unread", "p50 ms", "p99 ms", "load s.d.", "moves", "agent"):
        made.add_column(head, justify="left" if head == "arm" else "right")
    for r in sorted(records, key=lambda r: (r["seed"], ARMS.index(r["policy"]))):
        cells = [f"{r[name]:,.0f}" for name in ("throughput", "sent_per_s", "unread", "p50_ms", "p99_ms")]
        made.add_row(r["policy"], str(r["seed"]), *cells, f"{r['load_sd']:.2f}", str(r["moves"]), f"{r['agent_share']:.2%}")
    return made
