"""`headway sim fleet`: prediction rings and their rivals on many nodes, at the paper's scale and beyond."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway_lab.experiments.fleet import figures, pictures
from headway_lab.experiments.fleet.cases import FleetCase, setting
from headway_lab.experiments.fleet.run import ABLATIONS, AMPLIFIERS, ARMS, EXPERIMENT, FleetTask, recovered, sweep
from headway_lab.experiments.simulator.figures import interval_words
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record
from headway_lab.harness.options import some_of
from headway_lab.harness.report import figures_page

MAIN = tuple(arm for arm in ARMS if arm not in ("best-beside", *AMPLIFIERS, *ABLATIONS))
CASES = {
    "variable": FleetCase(rates="variable"),
    "fixed": FleetCase(),
    "external": FleetCase(scenario="external"),
    "amplifier": FleetCase(),
    "ablation": FleetCase(scenario="external"),
    "scale": FleetCase(minutes=6, nodes=1_000, computations=100_000, status_s=10),
}
ARMS_OF = {
    "variable": ("never-move", "near-ideal", "least-loaded", "rings-published", "prediction-rings"),
    "external": (*MAIN, "best-beside"),
    "amplifier": ("prediction-rings", *AMPLIFIERS),
    "ablation": ("never-move", "near-ideal", "rings-published", *ABLATIONS, "prediction-rings"),
    "scale": ("prediction-rings",),
}
HEADS = {
    "throughput": ("million/s", 1e-6),
    "p99_ms": ("p99 ms", 1.0),
    "sd_ms": ("s.d. ms", 1.0),
    "settled_min": ("settled, min", 1.0),
    "moves": ("moves", 1.0),
    "decay": ("decay", 1.0),
    "evened": ("evened", 1.0),
    "recovered": ("won back", 1.0),
    "round_max_ms": ("slowest round, ms", 1.0),
}
NS_A_STEP = 45_000  # of a run: what a computation takes for a round, in nanoseconds, by experience


def fleet(
    scenarios: Annotated[str, typer.Option(help="Which, with commas between them.")] = ",".join(CASES),
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 5,
    minutes: Annotated[int | None, typer.Option(help="Simulated minutes of each run; the paper's 75 unless told.")] = None,
    crowding: Annotated[float, typer.Option(help="What a crowded node loses; 0: nothing.")] = FleetCase().crowding,
    arms: Annotated[str | None, typer.Option(help="Only these policies.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at once; as many as there are cores unless told.")] = None,
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-fleet.html"),
    pictures_to: Annotated[Path | None, typer.Option(help="A folder: two figures as PNG too.")] = None,
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
) -> None:
    """The figures of the paper on prediction rings: crowded nodes, other programs, and which policy moves what where."""
    arguments.at_least("seeds", seeds, 1)
    arguments.at_least("crowding", crowding, 0)
    arguments.new_file("out", out)
    only = None if arms is None else some_of("arms", arms, tuple(ARMS))
    asked = {name: changed(CASES[name], minutes, crowding) for name in some_of("scenarios", scenarios, tuple(CASES))}
    book = Ledger(ledger)
    done = {(str(r["setting"]), r["policy"], r["seed"]) for r in mine(book, list(asked.values()))}
    wanted = [
        (case, arm, seed)
        for seed in range(1, seeds + 1)
        for name, case in asked.items()
        for arm in ARMS_OF.get(name, MAIN)
        if only is None or arm in only
    ]
    tasks = [t for t in dict.fromkeys(wanted) if (str(setting(t[0])), t[1], t[2]) not in done]
    measured(tasks, book, arguments.cores(jobs))
    records = mine(book, list(asked.values()))
    for name, case in asked.items():
        screen.out.print(table(name, [r for r in records if r["setting"] == setting(case)], ARMS_OF.get(name, MAIN)))
    out.write_text(figures_page("A fleet in virtual time", figures.fleet(records)), "utf-8")
    screen.out.print(f"Figures: {out}", soft_wrap=True)
    if pictures_to is not None:
        pictures.throughput(records, pictures_to / "fleet-throughput.png")
        pictures.moves(records, pictures_to / "fleet-moves.png")


def changed(case: FleetCase, minutes: int | None, crowding: float) -> FleetCase:
    return replace(case, crowding=crowding, minutes=case.minutes if minutes is None else minutes)


def measured(tasks: Sequence[FleetTask], book: Ledger, jobs: int) -> None:
    """Run what is missing, and write it down as it comes."""
    seconds = [case.computations * case.minutes * 60 / case.status_s * NS_A_STEP * 1e-9 for case, _, _ in tasks]
    with screen.ProgressBar(seconds) as bar:
        for (case, arm, seed), found in sweep(tasks, jobs):
            bar.begin(f"seed {seed}, {case.scenario}, {case.rates} rates, {case.nodes} nodes, {arm}")
            won = won_back(found["throughput"], case, seed, mine(book, [case]))
            book.append(EXPERIMENT, arm, setting(case), seed, found | won, kind="sim")
            bar.end()


def won_back(throughput: float, case: FleetCase, seed: int, records: Sequence[Record]) -> dict[str, float]:
    """Of what never moving loses; nothing where that was not measured."""
    by_arm = {r["policy"]: r["throughput"] for r in records if r["seed"] == seed}
    if not {"never-move", "near-ideal"} <= by_arm.keys():
        return {}
    return {"recovered": round(recovered(throughput, by_arm["never-move"], by_arm["near-ideal"]), 4)}


def mine(book: Ledger, asked: Sequence[FleetCase]) -> list[Record]:
    return book.of_this_commit(EXPERIMENT, [setting(case) for case in asked])


def table(name: str, records: Sequence[Record], arms: Sequence[str]) -> Table:
    made = Table(title=f"{name}: mean over seeds (95 % of the mean)", title_justify="left")
    fields = [f for f in HEADS if any(f in r for r in records)]
    made.add_column("policy", no_wrap=True)
    for field in fields:
        made.add_column(HEADS[field][0], justify="right")
    for arm in arms:
        of = [r for r in records if r["policy"] == arm]
        cells = [interval_words([r[f] * HEADS[f][1] for r in of if f in r]) for f in fields]
        made.add_row(arm, *cells, style="bold" if arm == "prediction-rings" else None)
    return made
