"""`headway demo`: the same queries under stock Spark and under Klink, in turns, in one JVM; more demos by name."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli import arguments
from headway_lab.experiments.aion.demo import approximate
from headway_lab.experiments.fleet_live.demo import fleet
from headway_lab.experiments.traffic.demo import traffic
from headway_lab.experiments.wan_live.demo import wan
from headway_lab.harness import screen
from headway_lab.harness.bench import Bench, Run
from headway_lab.harness.ledger import origin
from headway_lab.harness.options import CoresOption, MemoryOption, RateOption, at_least
from headway_lab.harness.report import page
from headway_lab.harness.setting import Setting
from headway_lab.harness.suite import Segment, by_setting, measures, ratio_to_best

POLICIES = ("stock-tuned", "klink")
WARM_UP = Setting(queries=4, rate=200, settle=2, seconds=10)

app = typer.Typer()
app.command("traffic")(traffic)
app.command("approximate")(approximate)
app.command("fleet")(fleet)
app.command("wan")(wan)


@app.callback(invoke_without_command=True)
def demo(  # an argument for each option of the command
    context: typer.Context,
    queries: Annotated[int, typer.Option(help="Streaming queries that run side by side.")] = 12,
    rate: RateOption = 200,
    seconds: Annotated[int, typer.Option(help="Measured seconds per policy and round.")] = 9,
    rounds: Annotated[int, typer.Option(help="How often the policies take turns.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for the report.")] = Path("headway-report"),
    memory: MemoryOption = "4g",
    cores: CoresOption = None,
) -> None:
    """Show what it does: windows of a dozen queries, stock Spark against Klink, in about two minutes."""
    if context.invoked_subcommand is not None:
        return
    at_least(1, queries=queries, rate=rate, seconds=seconds, rounds=rounds)
    arguments.new_file("out", out / "index.html" if out.is_dir() else out)
    setting = Setting(queries=queries, rate=rate, seconds=seconds, settle=4)
    segments = [Segment((policy,), setting, seed) for seed in range(1, rounds + 1) for policy in POLICIES]
    with screen.spark_session("headway-demo", cores=arguments.cores(cores), memory=arguments.memory(memory)) as spark:
        runs = _measure(Bench(spark), segments)
    _show(runs, setting, out)


def _measure(bench: Bench, segments: Sequence[Segment]) -> list[dict[str, Any]]:
    warm_up = Segment(("klink",), WARM_UP, seed=0)
    runs: list[dict[str, Any]] = []
    try:
        with screen.ProgressBar([warm_up.expected_s, *(s.expected_s for s in segments)]) as bar:
            bar.begin("warm-up, not measured: a young JVM still compiles itself")
            list(bench.run(warm_up.policies, warm_up.setting, warm_up.seed, lambda what, left_s: bar.say("", left_s)))
            bar.end()
            for segment in segments:
                bar.begin(f"round {segment.seed} of {segments[-1].seed}, {segment.policies[0]}")
                runs += map(_record, bench.run(segment.policies, segment.setting, segment.seed, bar.say))
                bar.end()
    finally:
        bench.close()
    return runs


def _record(run: Run) -> dict[str, Any]:
    """A run as the report wants it: a ledger record that also tells of every window."""
    record = {**origin(), "policy": run.policy, "setting": asdict(run.setting), "seed": run.seed, **measures(run)}
    return record | {"latencies_ms": run.latencies_ms, "due_ms": run.due_ms}


def _show(runs: list[dict[str, Any]], setting: Setting, out: Path) -> None:
    by_policy = by_setting(runs)[setting.label]
    screen.out.print(
        screen.latency_table(f"{setting.queries} queries x {setting.rate:,} events/s, 3 s windows", by_policy, spread=False)
    )
    mean, tail = ratio_to_best(by_policy, "mean_ms"), ratio_to_best(by_policy, "p99_ms")
    if mean and tail:
        screen.out.print(
            f"Klink over stock: {mean.middle:.2f} of the mean latency, {tail.middle:.2f} of the 99th percentile."
        )
    out.mkdir(exist_ok=True)
    path = out / "index.html"
    path.write_text(page("Headway demo: stock Spark and Klink", runs), "utf-8")
    screen.out.print(f"Report: {path}", soft_wrap=True)
