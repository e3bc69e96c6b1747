"""`headway orchestrator`: decides on which node each query of a fleet runs, and moves it; the primary, or ready to be."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli import arguments, extras
from headway.cli.ending import asked_to_end
from headway.cli.fleet_part import ROOT, connected, place, secret_in
from headway.errors import HeadwayError, SettingError, aloud
from headway.fleet.node.app import LOOPBACK, Listening
from headway.fleet.session import Session, Tell, tell_nobody
from headway.fleet.zookeeper.session import TIMEOUT_MS
from headway.loop.journal import Journal
from headway.loop.journal_file import state_folder
from headway.model.placement import PlacementPolicy
from headway.policy.load import policy_of

if TYPE_CHECKING:
    from headway.fleet.orchestrator.process import OrchestratorProcess

WAKE_S = 0.5


def orchestrator(
    zookeeper: Annotated[str, typer.Option(help="host:port of the fleet's ZooKeeper, or several with commas.")],
    checkpoints: Annotated[str, typer.Option(help="The folder of all checkpoints, which every node reaches.")],
    token_file: Annotated[Path, typer.Option(help="A file with the token of the fleet: of its nodes and of this.")],
    name: Annotated[str, typer.Option(help="The name of this orchestrator.")] = "orchestrator",
    pipelines: Annotated[
        Path | None, typer.Option(help="Where pipeline files are kept, on every machine the same; beside the checkpoints.")
    ] = None,
    policy: Annotated[str, typer.Option(help="prediction-rings, least-loaded, never-move ...")] = "prediction-rings",
    port: Annotated[int, typer.Option(help="Where it listens; 0 for any port that is free.")] = 0,
    host: Annotated[str, typer.Option(help="On which address.")] = LOOPBACK,
    cert: Annotated[Path | None, typer.Option(help="A certificate (PEM): then it speaks TLS.")] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the certificate.")] = None,
    address: Annotated[str | None, typer.Option(help="Where others reach it, if not where it listens.")] = None,
    ca: Annotated[Path | None, typer.Option(help="What the nodes' certificates are checked against.")] = None,
    journal: Annotated[Path | None, typer.Option(help="Where to write every decision down.")] = None,
    root: Annotated[str, typer.Option(help="Where the fleet has its nodes in ZooKeeper.")] = ROOT,
    zookeeper_secret: Annotated[Path | None, typer.Option(help="A file with user:password for ZooKeeper.")] = None,
    session_ms: Annotated[int, typer.Option(help="Silence after which another one takes over.")] = TIMEOUT_MS,
) -> None:
    """Decide until Ctrl-C or SIGTERM. Start two of them: one is the primary, the other takes over when it dies."""
    extras.require("orchestrator", "fleet", extras.FLEET)
    from headway.fleet.orchestrator.process import FleetPlaces, OrchestratorDoor, OrchestratorProcess

    decides: PlacementPolicy = policy_of("placement", policy)
    token, secret = secret_in("token-file", token_file), secret_in("zookeeper-secret", zookeeper_secret)
    listening = Listening(token, host, port, cert, key)
    places = FleetPlaces(place("root", root), checkpoints.rstrip("/"), _pipelines(pipelines, checkpoints))
    kept = state_folder() / f"{name}.db" if journal is None else arguments.new_file("journal", journal)

    def connect(tell: Tell) -> Session:
        return connected(zookeeper, f"orchestrator {name}", tell, secret, session_ms)

    connect(tell_nobody).close()  # what was typed is tried once, so that it is refused at once
    running = OrchestratorProcess(name, connect, places, decides, Journal(kept), OrchestratorDoor(listening, address, ca))
    running.start()
    typer.echo(f"orchestrator {name} at {running.address}, its journal is {kept}")
    try:
        _wait(running)
    finally:
        running.stop()
    if running.service.failed:
        raise HeadwayError(f"orchestrator {name} has ended by a mistake of its own: see above")
    typer.echo(f"orchestrator {name} has stopped")


def _wait(running: "OrchestratorProcess") -> None:
    """Until it is asked to end, or has ended by a mistake."""
    with asked_to_end() as over:
        while not over.wait(WAKE_S) and not running.service.ended.is_set():
            continue


def _pipelines(wanted: Path | None, checkpoints: str) -> Path:
    """A folder that is there, on a disk: a node loads files, and Python knows no other file system."""
    local = checkpoints.removeprefix("file://")
    if wanted is None and "://" in local:
        raise SettingError("pipelines", None, f"a folder on a disk that all nodes see, since {checkpoints} is none")
    folder = Path(local).parent / "pipelines" if wanted is None else wanted
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError("pipelines", str(folder), f"a folder that can be made: {error.strerror}") from None
    if not folder.is_absolute():
        aloud(f"pipelines = {str(folder)!r} is taken to be {folder.absolute()}: nodes elsewhere may see another folder")
    return folder.absolute()
