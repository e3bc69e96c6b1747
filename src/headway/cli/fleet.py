"""`headway fleet`: many Spark applications as one. Started on this machine for trying out, and asked for moves anywhere."""

import os
import secrets
import signal
import threading
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.live import Live

from headway import pipeline
from headway.cli import arguments, extras, fleet_up, screen
from headway.cli.fleet_part import secret_in
from headway.cli.fleet_table import tables
from headway.cli.fleet_up import FleetSize, LocalFleet
from headway.errors import HeadwayError, SettingError
from headway.fleet.fleet_client import FleetClient
from headway.fleet.moves.contract import STOP, UPGRADE_TRIAL, contract
from headway.fleet.orchestrator.wire import (
    AskReceipt,
    DrainWanted,
    MoveWanted,
    StopWanted,
    SubmitWanted,
    UpgradeWanted,
)
from headway.model.time import duration_ms
from headway.policy.load import policy_of

app = typer.Typer(help="Many Spark applications as one fleet.", no_args_is_help=True)

LOOK_S = 0.2
Orchestrators = Annotated[
    list[str] | None,
    typer.Option("--orchestrator", help="http://host:port of one; may be given again. The local fleet's unless told."),
]
TokenFile = Annotated[Path | None, typer.Option("--token-file", help="A file with the fleet's token.")]
Authority = Annotated[Path | None, typer.Option("--ca", help="What their certificates are checked against.")]
Timeout = Annotated[str, typer.Option(help="How long a move may take until the query has stopped where it was.")]
OnTimeout = Annotated[str, typer.Option("--on-timeout", help="rollback: leave it where it is; force: interrupt its batch.")]
Partitions = Annotated[
    int | None, typer.Option(help="Spread its state over so many partitions on the way. RocksDB only, Spark 4.3 or later.")
]


@app.command()
def up(
    nodes: Annotated[int, typer.Option(help="How many nodes, each with one core.")] = 3,
    memory: Annotated[str, typer.Option(help="Memory of each node's driver.")] = "512m",
    policy: Annotated[str, typer.Option(help="prediction-rings, least-loaded, never-move ...")] = "prediction-rings",
    kafka: Annotated[bool, typer.Option("--kafka", help="With Spark's connector to Kafka, fetched if need be.")] = False,
    folder: Annotated[
        Path | None, typer.Option(help="For all it keeps; a temporary one, removed afterwards, unless told.")
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running; `headway fleet down` ends it.")] = False,
) -> None:
    """Start ZooKeeper, two orchestrators and some nodes on this machine. All of it ends with this command."""
    extras.require("fleet up", "fleet", extras.FLEET)
    arguments.at_least("nodes", nodes, 1)
    policy_of("placement", policy)
    size = FleetSize(nodes, arguments.memory(memory), policy, kafka, folder, attached=not detach)
    over = threading.Event()
    if not detach:
        for kind in (signal.SIGINT, signal.SIGTERM):
            signal.signal(kind, lambda number, frame: _asked_to_end(over))
    started = fleet_up.start_alone(size, _say)
    _say(f"the fleet serves: {nodes} nodes, orchestrators at {', '.join(started.orchestrators)}")
    _say(f"its logs are in {started.folder}")
    if detach:
        return
    _say("Ctrl-C, or `headway fleet down`, ends it")
    try:
        _watch_over(started, over)
    finally:
        fleet_up.end(started, keep=folder is not None)
    _say("the fleet has ended")


@app.command()
def down(keep: Annotated[bool, typer.Option("--keep", help="Leave checkpoints and logs where they are.")] = False) -> None:
    """End everything that `fleet up` has started, and remove what it has left."""
    fleet = LocalFleet.load()
    if fleet is None:
        raise HeadwayError("no fleet of `headway fleet up` is known: there is nothing to end")
    was = fleet_up.end(fleet, keep=keep)
    kept = f"; what it kept is in {fleet.folder}" if keep and Path(fleet.folder).exists() else ""
    _say(f"ended: {', '.join(was)}{kept}" if was else f"it had ended already{kept}")


@app.command()
def status(
    once: Annotated[bool, typer.Option("--once", help="Print it once, and end.")] = False,
    orchestrator: Orchestrators = None,
    token_file: TokenFile = None,
    ca: Authority = None,
) -> None:
    """Nodes and queries: where, how they are, and what moves."""
    with _client(orchestrator, token_file, ca) as client:
        if once:
            screen.out.print(tables(client.standing()))
            return
        with Live(tables(client.standing()), console=screen.out, auto_refresh=False) as live:
            while True:
                time.sleep(1)
                live.update(tables(client.standing()), refresh=True)


@app.command()
def submit(
    file: Annotated[Path, typer.Argument(help="A Python file with functions marked with @headway.query.")],
    query: Annotated[list[str] | None, typer.Option(help="Only this query of it; may be given again.")] = None,
    node: Annotated[str | None, typer.Option(help="Where it begins; where the policy says unless told.")] = None,
    orchestrator: Orchestrators = None,
    token_file: TokenFile = None,
    ca: Authority = None,
) -> None:
    """Start the queries of a pipeline file on the fleet."""
    names, text = _queries(file, query)
    with _client(orchestrator, token_file, ca) as client:
        for name in names:
            wanted = SubmitWanted(secrets.token_hex(8), name, str(file), text, node)
            _say(_accepted(client.ask("submit", wanted)))


@app.command()
def move(
    query: Annotated[str, typer.Argument(help="The query's name.")],
    node: Annotated[str, typer.Argument(help="The node that it shall go to.")],
    partitions: Partitions = None,
    timeout: Timeout = "60s",
    on_timeout: OnTimeout = "rollback",
    orchestrator: Orchestrators = None,
    token_file: TokenFile = None,
    ca: Authority = None,
) -> None:
    """Move a query, wait for the end of it, and say what came of it. Exit code 0 if it runs there, 1 if not."""
    agreed = contract(timeout, on_timeout, partitions=partitions)
    wanted = MoveWanted(secrets.token_hex(8), query, node, agreed.timeout_ms, agreed.on_timeout, partitions)
    with _client(orchestrator, token_file, ca) as client:
        _accepted(client.ask("move", wanted))
        if not _ended_well(client, query, wanted.id):
            raise typer.Exit(1)


@app.command()
def upgrade(
    file: Annotated[Path, typer.Argument(help="The new version of a pipeline file.")],
    query: Annotated[list[str] | None, typer.Option(help="Only this query of it; may be given again.")] = None,
    trial: Annotated[int, typer.Option(help="So many batches must succeed, or the old version goes on.")] = UPGRADE_TRIAL,
    partitions: Partitions = None,
    timeout: Timeout = "60s",
    on_timeout: OnTimeout = "rollback",
    orchestrator: Orchestrators = None,
    token_file: TokenFile = None,
    ca: Authority = None,
) -> None:
    """Let new code take over running queries, on their checkpoints. Exit code 1 if one of them has gone home."""
    agreed, (names, text) = contract(timeout, on_timeout, trial, partitions), _queries(file, query)
    well = True
    with _client(orchestrator, token_file, ca) as client:
        for name in names:
            settings = (agreed.timeout_ms, agreed.on_timeout, agreed.trial, partitions)
            wanted = UpgradeWanted(secrets.token_hex(8), name, str(file), text, *settings)
            _accepted(client.ask("upgrade", wanted))
            well = _ended_well(client, name, wanted.id) and well
    if not well:
        raise typer.Exit(1)


@app.command()
def stop(
    query: Annotated[str, typer.Argument(help="The query's name.")],
    forget: Annotated[bool, typer.Option("--forget-checkpoint", help="Delete its checkpoints, too.")] = False,
    orchestrator: Orchestrators = None,
    token_file: TokenFile = None,
    ca: Authority = None,
) -> None:
    """End a query between two batches. Its checkpoint is kept, and `submit` goes on from it. Ctrl-C only stops waiting."""
    with _client(orchestrator, token_file, ca) as client:
        _accepted(client.ask("stop", StopWanted(secrets.token_hex(8), query, forget)))
        if not _ended_well(client, query, STOP):
            raise typer.Exit(1)


@app.command()
def drain(
    node: Annotated[str, typer.Argument(help="The node that shall host nothing.")],
    undo: Annotated[bool, typer.Option("--undo", help="Let it take queries again.")] = False,
    timeout: Annotated[str, typer.Option(help="How long is waited; afterwards it goes on being drained.")] = "5 minutes",
    orchestrator: Orchestrators = None,
    token_file: TokenFile = None,
    ca: Authority = None,
) -> None:
    """Move all queries away from a node, and place none on it. Exit code 1 if some are left when the time is over."""
    end = time.monotonic() + duration_ms("timeout", timeout) / 1000
    with _client(orchestrator, token_file, ca) as client:
        _say(_accepted(client.ask("drain", DrainWanted(node, undo))))
        left = 0
        while not undo:
            seen = client.standing()
            left = sum(one.node == node for one in seen.queries)
            if (seen.primary and not left) or time.monotonic() >= end:
                break
            time.sleep(LOOK_S)
    if left:
        _say(f"{node} still has {left} queries: `headway fleet status` says how they stand")
        raise typer.Exit(1)
    if not undo:
        _say(f"{node} hosts nothing")


# ---- how it is done


def _client(orchestrators: list[str] | None, token_file: Path | None, ca: Path | None) -> FleetClient:
    """Of the fleet that was named, or of the one on this machine."""
    extras.require("fleet", "fleet", extras.FLEET)
    if orchestrators:
        token = secret_in("token-file", token_file)
        if token is None:
            raise SettingError("token-file", None, "a file with the token of this fleet")
        return FleetClient([one.rstrip("/") for one in orchestrators], token, ca=ca)
    local = LocalFleet.load()
    if local is None or not local.token_file.is_file():
        want = "http://host:port of an orchestrator, or a fleet that was started with `headway fleet up`"
        raise SettingError("orchestrator", None, want)
    return FleetClient(local.orchestrators, local.token, ca=ca)


def _queries(file: Path, chosen: list[str] | None) -> tuple[list[str], str]:
    pipeline.check(file)
    return list(chosen) if chosen else pipeline.declared(file), file.read_text("utf-8")


def _accepted(receipt: AskReceipt) -> str:
    if not receipt.accepted:
        raise HeadwayError(receipt.line)
    return receipt.line


def _ended_well(client: FleetClient, query: str, id: str) -> bool:
    """Says each step of a move, and at its end whether it was done."""
    said, outage_said = "", False
    while True:
        found = client.progress(query, id)
        if found.outage_ms is not None and not outage_said:
            outage_said = True
            parts = ", ".join(f"{part} {ms:.0f}" for part, ms in (found.parts_ms or {}).items())
            _say(f"{query} was out of service for {found.outage_ms} ms ({parts})")
        if found.line != said:
            said = found.line
            _say(said)
        if found.state != "under way":
            return found.state == "done"
        time.sleep(LOOK_S)


def _asked_to_end(over: threading.Event) -> None:
    """The second time, at once."""
    if over.is_set():
        os._exit(130)
    over.set()
    raise KeyboardInterrupt


def _watch_over(fleet: LocalFleet, over: threading.Event) -> None:
    """Until it is asked to end. A process that dies is told of, once: that is what a fleet is tried out for."""
    known = set(fleet.alive)
    try:
        while not over.wait(1.0):
            gone = known - set(fleet.alive)
            for name in sorted(gone):
                _say(f"{name} has ended")
            known -= gone
    except KeyboardInterrupt:
        return


def _say(text: str) -> None:
    screen.out.print(text, highlight=False, soft_wrap=True, markup=False)
