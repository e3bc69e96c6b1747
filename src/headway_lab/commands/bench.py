"""`headway bench`: measure, and write every result into the ledger."""

import typer

from headway_lab.commands import report as bench_report
from headway_lab.experiments.advice import command as bench_advice
from headway_lab.experiments.aion import command as bench_aion
from headway_lab.experiments.chaos import command as bench_chaos
from headway_lab.experiments.cluster import command as bench_cluster
from headway_lab.experiments.cold import command as bench_cold
from headway_lab.experiments.cost import command as bench_cost
from headway_lab.experiments.coverage import command as bench_coverage
from headway_lab.experiments.crash import command as bench_crash
from headway_lab.experiments.dashboard import command as bench_dashboard
from headway_lab.experiments.density import command as bench_density
from headway_lab.experiments.ecg import command as bench_ecg
from headway_lab.experiments.fleet_cost import command as bench_fleet_cost
from headway_lab.experiments.fleet_faults import command as bench_fleet_faults
from headway_lab.experiments.fleet_live import command as bench_fleet_live
from headway_lab.experiments.gate import command as bench_gate
from headway_lab.experiments.grid import command as bench_grid
from headway_lab.experiments.hour import command as bench_hour
from headway_lab.experiments.idle import command as bench_idle
from headway_lab.experiments.kafka import command as bench_kafka
from headway_lab.experiments.klink import command as bench_klink
from headway_lab.experiments.merge import command as bench_merge
from headway_lab.experiments.moves import command as bench_moves
from headway_lab.experiments.relay import command as bench_relay
from headway_lab.experiments.scripts import command as bench_scripts
from headway_lab.experiments.session import command as bench_session
from headway_lab.experiments.silence import command as bench_silence
from headway_lab.experiments.soak import command as bench_soak
from headway_lab.experiments.traffic import command as bench_traffic
from headway_lab.experiments.wan_live import command as bench_wan_live
from headway_lab.experiments.wan_state import command as bench_wan_state
from headway_lab.harness.options import help_without_a_command

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
app.command("fleet-faults")(bench_fleet_faults.fleet_faults)
app.command("scripts")(bench_scripts.scripts)
app.command("merge")(bench_merge.merge)
app.command("ecg")(bench_ecg.ecg)
app.command("advice")(bench_advice.advice)
app.command("advice-seeded")(bench_advice.seeded)
app.command("dashboard")(bench_dashboard.dashboard)
app.command("relay")(bench_relay.relay)
app.command("fleet")(bench_fleet_live.fleet)
app.command("fleet-cost")(bench_fleet_cost.fleet_cost)
app.command("moves")(bench_moves.moves)
app.command("wan")(bench_wan_live.wan)
app.command("wan-state")(bench_wan_state.wan_state)
app.command("report")(bench_report.report)


app.callback(invoke_without_command=True)(help_without_a_command)
