"""`headway bench`: measure, and write every result into the ledger."""

import typer

from headway.cli import (
    bench_aion,
    bench_chaos,
    bench_cluster,
    bench_cold,
    bench_cost,
    bench_coverage,
    bench_crash,
    bench_density,
    bench_gate,
    bench_grid,
    bench_hour,
    bench_idle,
    bench_kafka,
    bench_klink,
    bench_merge,
    bench_report,
    bench_scripts,
    bench_session,
    bench_silence,
    bench_soak,
    bench_traffic,
)

app = typer.Typer(help="Measure policies, predictions and recovery; results go into a ledger.")
app.command("klink")(bench_klink.klink)
app.command("grid")(bench_grid.grid)
app.command("kafka")(bench_kafka.kafka)
app.command("soak")(bench_soak.soak)
app.command("hour")(bench_hour.hour)
app.command("silence")(bench_silence.silence)
app.command("traffic")(bench_traffic.traffic)
app.command("aion")(bench_aion.aion)
app.command("cost")(bench_cost.cost)
app.command("density")(bench_density.density)
app.command("idle")(bench_idle.idle)
app.command("session")(bench_session.session)
app.command("cold")(bench_cold.cold)
app.command("coverage")(bench_coverage.coverage)
app.command("gate")(bench_gate.gate)
app.command("crash")(bench_crash.crash)
app.command("chaos")(bench_chaos.chaos)
app.command("cluster")(bench_cluster.cluster)
app.command("scripts")(bench_scripts.scripts)
app.command("merge")(bench_merge.merge)
app.command("report")(bench_report.report)


@app.callback(invoke_without_command=True)
def top(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
