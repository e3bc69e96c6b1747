"""The `headway` command: what a user can fix is told in one line, a bug keeps its traceback."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

import headway
from headway.cli import (
    advise,
    checkpoint,
    dashboard,
    doctor,
    explain,
    fleet,
    jar,
    kafka,
    metrics,
    node,
    orchestrator,
    plugins,
    replay,
    run,
    wan,
    zookeeper,
)
from headway.cli import top as top_
from headway.errors import HeadwayError, QueryFailed

app = typer.Typer(
    name="headway",
    help="Windows on time, with reasons: a control plane for Spark Structured Streaming.",
    epilog="Start with `headway doctor`, then `headway demo`.",
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("dashboard")(dashboard.dashboard)
app.command("top")(top_.top)
app.command("metrics")(metrics.metrics)
app.command("explain")(explain.explain)
app.command("replay")(replay.replay)
app.add_typer(kafka.app, name="kafka")
app.add_typer(zookeeper.app, name="zookeeper")
app.command("node")(node.node)
app.command("orchestrator")(orchestrator.orchestrator)
app.add_typer(fleet.app, name="fleet")
app.add_typer(checkpoint.app, name="checkpoint")
app.add_typer(wan.app, name="wan")
app.command("doctor")(doctor.doctor)
app.command("advise")(advise.advise)
app.command("jar")(jar.jar)


@app.callback(invoke_without_command=True)
def headway_(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        typer.echo(f"headway {headway.__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(args: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 2 for what the user can fix, 1 for a query that died, 130 after Ctrl-C."""
    args = sys.argv[1:] if args is None else args
    _add_plugins(args)
    try:
        code = app(args=args, prog_name="headway", standalone_mode=False)
    except QueryFailed as error:
        return _fail(str(error), code=1)
    except HeadwayError as error:
        return _fail(str(error))
    except typer.TyperException as error:  # an unknown command or option, a missing argument, a number that is none
        return _fail(f"{error.format_message()} (`headway --help` lists commands, `headway COMMAND --help` their options)")
    except KeyboardInterrupt:
        return 130
    return code if isinstance(code, int) else 0


def _add_plugins(args: Sequence[str]) -> None:
    """Those that this call may need."""
    command = next((word for word in args if not word.startswith("-")), None)
    own = {one.name for one in app.registered_commands} | {one.name for one in app.registered_groups}
    if command == "kafka":
        plugins.add_to(kafka.app, "headway.commands.kafka")
    elif command not in own and "--version" not in args:
        plugins.add_to(app, only=command)


def _fail(message: str, code: int = 2) -> int:
    line = " ".join(message.split())
    sys.stderr.write(f"headway: {line}\n")
    return code
