"""`headway dashboard`: what happens, in a browser. A process of its own, which reads the journal and nothing else."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli import arguments, screen
from headway.cli.extras import lacks
from headway.cli.fleet_part import secret_in
from headway.dashboard.glance import Glance
from headway.fleet.node.app import ASGI, LOOPBACK, Listening, NodeServer
from headway.model.time import duration_ms

if TYPE_CHECKING:
    from headway.dashboard.telemetry import TelemetrySender

PORT = 8787
GIVES_WAY = 10  # niceness: queries go first
TargetOption = Annotated[str, typer.Option(help="A window that comes out later than this after it was due is overdue.")]


def dashboard(
    journal: Annotated[Path | None, typer.Argument(help="The journal; the newest of this user unless told.")] = None,
    port: Annotated[int, typer.Option(help="Where it listens; 0 for any port that is free.")] = PORT,
    host: Annotated[str, typer.Option(help="On which address; beyond loopback it needs a token.")] = LOOPBACK,
    token_file: Annotated[Path | None, typer.Option(help="A file with the token that a browser is asked for.")] = None,
    cert: Annotated[Path | None, typer.Option(help="A certificate (PEM): then it speaks TLS.")] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the certificate.")] = None,
    target: TargetOption = "1 second",
    otlp: Annotated[
        str | None, typer.Option(help="Also send metrics to this OpenTelemetry collector: http://localhost:4318, say.")
    ] = None,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True, help="End when stdin is closed.")] = False,
) -> None:
    """Show queries, decisions and their effects in a browser, until Ctrl-C. Also metrics, under /metrics."""
    serve = _application()
    token = None if token_file is None else secret_in("token-file", token_file)
    listening = Listening(token, host, port, cert, key)
    glance = Glance(arguments.journal(journal), duration_ms("target", target))
    glance.look()
    server, sender = NodeServer(serve(glance, token), listening), None if otlp is None else _telemetry(glance, otlp)
    with contextlib.suppress(OSError):
        os.nice(GIVES_WAY)
    from headway.dashboard.app import Watcher

    parts: list[Watcher | NodeServer | TelemetrySender] = [Watcher(glance), server]
    parts += [] if sender is None else [sender]
    for part in parts:
        part.start()
    screen.out.print(f"dashboard of {glance.journal} at {server.address}/", soft_wrap=True, highlight=False)
    sys.stdout.flush()
    try:
        _wait(server, with_parent)
    finally:
        for part in parts:
            part.stop()


def _telemetry(glance: Glance, endpoint: str) -> "TelemetrySender":
    """Its packages are an extra of their own."""
    try:
        import opentelemetry.exporter.otlp.proto.http
        import opentelemetry.sdk.metrics  # noqa: F401
    except ModuleNotFoundError as error:
        raise lacks("dashboard --otlp", error, "otel") from None
    from headway.dashboard.telemetry import TelemetrySender

    return TelemetrySender(glance, endpoint)


def _application() -> Callable[[Glance, str | None], ASGI]:
    """The pages; they need packages that are not always installed."""
    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError as error:
        raise lacks("dashboard", error) from None
    from headway.dashboard.app import application

    return application


def _wait(server: NodeServer, with_parent: bool) -> None:
    """Until Ctrl-C or SIGTERM; as a part of a runtime until that has ended, however it did."""
    over = threading.Event()
    for kind in (signal.SIGINT, signal.SIGTERM):
        signal.signal(kind, lambda number, frame: over.set())
    if with_parent:
        threading.Thread(target=_await_end_of_input, args=(over,), daemon=True).start()
    while not over.wait(0.5) and server.serving:
        continue


def _await_end_of_input(over: threading.Event) -> None:
    with contextlib.suppress(OSError, ValueError):
        while sys.stdin.buffer.read(1):
            continue
    over.set()
