"""`headway sim wan`: WASP and its rivals on sixteen sites, and what its integer program costs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from headway.cli import arguments
from headway.errors import SettingError
from headway.loop.journal import Journal
from headway_lab.experiments.simulator.figures import interval_words
from headway_lab.experiments.wan import figures, program, queries, sharing
from headway_lab.experiments.wan.cases import MINUTES, WanCase, setting
from headway_lab.experiments.wan.run import EXPERIMENT, WanTask, simulate, sweep
from headway_lab.harness import screen
from headway_lab.harness.ledger import LEDGER, Ledger, Record
from headway_lab.harness.options import some_of
from headway_lab.harness.report import figures_page

STATE_MB = (0.0, 32.0, 64.0, 128.0, 256.0, 512.0)
CASES: dict[str, tuple[WanCase, ...]] = {
    "bottlenecks": tuple(WanCase("bottlenecks", name, MINUTES["bottlenecks"]) for name in queries.QUERIES),
    "techniques": (WanCase("techniques", queries.TOPICS, MINUTES["techniques"]),),
    "live": (WanCase("live", queries.TOPICS, MINUTES["live"]),),
    "state": (WanCase("state", queries.TOPICS, MINUTES["state"], state_mb=60.0),),
    "partition": tuple(WanCase("partition", queries.TOPICS, MINUTES["partition"], state_mb=mb) for mb in STATE_MB),
}
ARMS_OF = {
    "bottlenecks": ("no-adapt", "degrade", "wasp"),
    "techniques": ("no-adapt", "re-assign", "re-plan", "scale", "wasp"),
    "live": ("no-adapt", "degrade", "wasp"),
    "state": ("aware", "random", "distant", "no-migrate"),
    "partition": ("default", "partitioned"),
}
OTHERS = ("program", "sharing")
HEADS = {
    "mean_ms": ("mean, s", 1e-3),
    "p50_ms": ("median, s", 1e-3),
    "p99_ms": ("p99, s", 1e-3),
    "ratio_1": ("ratio, 2nd", 1.0),
    "ratio_3": ("ratio, 4th", 1.0),
    "lost_share": ("lost", 1.0),
    "extra_slots": ("more slots", 1.0),
    "changes": ("changes", 1.0),
    "overhead_s": ("overhead, s", 1.0),
    "wan_gb": ("GB", 1.0),
    "usd": ("dollars", 1.0),
    "decide_ms": ("ms a decision", 1.0),
}
S_A_MINUTE = 0.25  # of a run: what a simulated minute takes, by experience


def wan(
    scenarios: Annotated[str, typer.Option(help="Which, with commas between them.")] = ",".join((*CASES, *OTHERS)),
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 5,
    minutes: Annotated[int | None, typer.Option(help="Simulated minutes of each run; the paper's unless told.")] = None,
    arms: Annotated[str | None, typer.Option(help="Only these policies.")] = None,
    jobs: Annotated[int | None, typer.Option(help="Runs at once; as many as there are cores unless told.")] = None,
    out: Annotated[Path, typer.Option(help="The page with the figures.")] = Path("headway-wan.html"),
    ledger: Annotated[Path, typer.Option(help="The file that results are appended to.")] = LEDGER,
    journal: Annotated[
        Path | None, typer.Option(help="Play one run only, the first of what is asked for, and write its decisions there.")
    ] = None,
) -> None:
    """The figures of the WASP paper: bottlenecks, techniques by themselves, real traces, and state that moves."""
    arguments.at_least("seeds", seeds, 1)
    arguments.new_file("out", out)
    names = some_of("scenarios", scenarios, (*CASES, *OTHERS))
    every = sorted({arm for those in ARMS_OF.values() for arm in those})
    only = None if arms is None else some_of("arms", arms, every)
    asked = {n: tuple(changed(case, minutes) for case in CASES[n]) for n in names if n in CASES}
    if journal is not None:
        played(asked, only, journal)
        return
    book = Ledger(ledger)
    done = {(str(r["setting"]), r["policy"], r["seed"]) for r in mine(book, [c for of in asked.values() for c in of])}
    wanted = [
        (case, arm, seed)
        for seed in range(1, seeds + 1)
        for name, of in asked.items()
        for case in of
        for arm in ARMS_OF[name]
        if only is None or arm in only
    ]
    measured([t for t in wanted if (str(setting(t[0])), t[1], t[2]) not in done], book, arguments.cores(jobs))
    others(names, seeds, book)
    records = mine(book, [case for of in asked.values() for case in of])
    for name, of in asked.items():
        for case in of:
            found = [r for r in records if r["setting"] == setting(case)]
            screen.out.print(table(f"{name}, {case.query}{_state(case)}", found, ARMS_OF[name]))
    out.write_text(figures_page("A wide area in virtual time", figures.wan(records)), "utf-8")
    screen.out.print(f"Figures: {out}", soft_wrap=True)


def played(asked: dict[str, tuple[WanCase, ...]], only: list[str] | None, path: Path) -> None:
    """One run, for `headway explain` and `headway dashboard`; nothing of it goes into the ledger."""
    arguments.new_file("journal", path)
    name, cases = next(iter(asked.items()), ("", ()))
    arm = "wasp" if only is None else only[0]
    if not cases:
        raise SettingError("scenarios", ", ".join(OTHERS), f"one that is played, of {', '.join(CASES)}")
    if only is None and arm not in ARMS_OF[name]:
        arm = ARMS_OF[name][0]
    journal = Journal(path)
    try:
        found = simulate(cases[0], arm, 1, journal)
    finally:
        journal.close()
    said = f"{name}, {cases[0].query}, {arm}: {found['changes']} changes, mean delay {found['mean_ms'] / 1000:.1f} s"
    screen.out.print(f"{said}\nLook at it: headway dashboard {path}", soft_wrap=True, highlight=False)


def changed(case: WanCase, minutes: int | None) -> WanCase:
    return case if minutes is None else replace(case, minutes=minutes)


def measured(tasks: Sequence[WanTask], book: Ledger, jobs: int) -> None:
    """Run what is missing, and write it down as it comes."""
    with screen.ProgressBar([S_A_MINUTE * case.minutes for case, _, _ in tasks]) as bar:
        for (case, arm, seed), found in sweep(tasks, jobs):
            bar.begin(f"seed {seed}, {case.scenario}, {case.query}{_state(case)}, {arm}")
            book.append(EXPERIMENT, arm, setting(case), seed, found, kind="sim")
            bar.end()


def others(names: Sequence[str], seeds: int, book: Ledger) -> None:
    """The integer program by itself, and what partial aggregation and sharing spare."""
    for seed in range(1, seeds + 1):
        if "program" in names:
            for sites, stages in program.SIZES:
                where = {"sites": sites, "stages": stages}
                found = book.append(program.EXPERIMENT, "milp", where, seed, program.timed(sites, stages, seed), kind="sim")
                screen.out.print(_program_words(found), highlight=False, soft_wrap=True)
            small = program.compared(seed)
            book.append(program.EXPERIMENT, "milp", {"sites": 3, "stages": 3}, seed, small, kind="sim")
            said = f"seed {seed}: {small['wrong']} of {small['fitted']} small cases are not placed as well as can be"
            screen.out.print(said, highlight=False)
        if "sharing" in names:
            for query in (queries.TOPICS, queries.CAMPAIGNS):
                for arm, taken in sharing.compared(query, seed).items():
                    book.append(sharing.EXPERIMENT, arm, {"query": query}, seed, taken, kind="sim")
                    words = f"seed {seed}, {query}, {arm}: {taken['wan_gb']:.2f} GB and {taken['usd_h']:.3f} dollars an hour"
                    screen.out.print(f"{words}, {taken['tasks']:.0f} tasks", highlight=False)


def _program_words(found: Record) -> str:
    where = f"seed {found['seed']}, {found['setting']['sites']} sites"
    whole = f"{found['solve_ms']} ms, {found['solve_max_ms']} at most"
    gaps = f"gap {found['gap_mean']:.2%}, {found['gap_max']:.2%} at most"
    part = f"in part {found['part_ms']} ms, {found['part_max_ms']} at most, gap {found['part_gap_mean']:.2%}"
    return f"{where}: {whole}; {gaps}; {part}"


def mine(book: Ledger, asked: Sequence[WanCase]) -> list[Record]:
    return book.of_this_commit(EXPERIMENT, [setting(case) for case in asked])


def table(name: str, records: Sequence[Record], those: Sequence[str]) -> Table:
    made = Table(title=name, title_justify="left")
    fields = [f for f in HEADS if any(f in r for r in records)]
    made.add_column("policy")
    for field in fields:
        made.add_column(HEADS[field][0], justify="right")
    for arm in [a for a in those if any(r["policy"] == a for r in records)]:
        of = [r for r in records if r["policy"] == arm]
        cells = [interval_words([r[f] * HEADS[f][1] for r in of if f in r]) for f in fields]
        made.add_row(arm, *cells, style="bold" if arm in ("wasp", "aware", "partitioned") else None)
    return made


def _state(case: WanCase) -> str:
    return "" if case.state_mb is None else f", {case.state_mb:g} MB"
