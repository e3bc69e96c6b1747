"""`headway node`: one Spark application that hosts queries of a fleet, and does what it is asked to over HTTP."""

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

from headway.cli import arguments, extras, screen
from headway.cli.ending import asked_to_end
from headway.cli.fleet_part import ROOT, FleetPart, secret_in
from headway.errors import SettingError, aloud
from headway.fleet.client import NodeClient
from headway.fleet.node.app import LOOPBACK, Listening, NodeServer, application
from headway.fleet.node.desk import CommandDesk
from headway.fleet.node.machine import MachineGauge
from headway.fleet.node.peer_checkpoints import PeerCheckpoints
from headway.fleet.node.reporter import StatusReporter, wall_now
from headway.fleet.node.stage_watch import StageWatch, addresses_of, others_of
from headway.fleet.zookeeper.session import TIMEOUT_MS
from headway.loop.journal_file import state_folder
from headway.policy.load import order_policy

LOCAL = "local["
LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class _Reached:
    """Where this node is reached, and where it reaches others."""

    address: str | None
    peers: tuple[str, ...]
    ca: Path | None


def node(
    name: Annotated[str, typer.Option(help="The name of this node in its fleet.")],
    port: Annotated[int, typer.Option(help="Where it listens; 0 for any port that is free.")] = 0,
    host: Annotated[str, typer.Option(help="On which address; others than loopback need a token.")] = LOOPBACK,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with the token that callers must know; else one is made up.")
    ] = None,
    cert: Annotated[Path | None, typer.Option(help="A certificate (PEM): then it speaks TLS.")] = None,
    key: Annotated[Path | None, typer.Option(help="The key of the certificate.")] = None,
    master: Annotated[str, typer.Option(help="Where Spark runs: local[N], spark://...")] = "local[1]",
    memory: Annotated[str, typer.Option(help="Memory of the driver.")] = "1g",
    order: Annotated[str, typer.Option(help="The order policy: klink, round-robin, stock ...")] = "klink",
    slots: Annotated[str, typer.Option(help="How many batches may run at once: a number, or auto.")] = "auto",
    journal: Annotated[Path | None, typer.Option(help="Where to write every decision down.")] = None,
    bandwidth: Annotated[float | None, typer.Option(help="Bytes per second that are not to be exceeded.")] = None,
    conf: Annotated[list[str] | None, typer.Option(help="A setting of Spark's, KEY=VALUE; may be given again.")] = None,
    kafka: Annotated[bool, typer.Option("--kafka", help="With Spark's connector to Kafka, fetched if need be.")] = False,
    zookeeper: Annotated[
        str | None, typer.Option(help="host:port of the fleet's ZooKeeper; without it, it takes part in none.")
    ] = None,
    root: Annotated[str, typer.Option(help="Where the fleet has its nodes in ZooKeeper.")] = ROOT,
    zookeeper_secret: Annotated[Path | None, typer.Option(help="A file with user:password for ZooKeeper.")] = None,
    session_ms: Annotated[int, typer.Option(help="Silence after which ZooKeeper gives the node up.")] = TIMEOUT_MS,
    address: Annotated[str | None, typer.Option(help="Where others reach it, if not where it listens.")] = None,
    peer: Annotated[
        list[str] | None, typer.Option(help="Address of a node that runs other stages of its pipelines; may be given again.")
    ] = None,
    ca: Annotated[Path | None, typer.Option(help="The certificate that those of other nodes are checked against.")] = None,
) -> None:
    """Host queries until Ctrl-C or SIGTERM: then every one is stopped between two batches."""
    extras.require("node", "fleet", extras.FLEET)
    policy, places = order_policy(order), arguments.slots(slots)
    listening = Listening(_token(token_file), host, port, cert, key)
    settings = _settings(conf or [])
    if journal is not None:
        arguments.new_file("journal", journal)
    if bandwidth is not None:
        arguments.at_least("bandwidth", bandwidth, 1)
    part = FleetPart(name, zookeeper, root, secret_in("zookeeper-secret", zookeeper_secret), session_ms)
    with _spark(name, master, arguments.memory(memory), kafka, settings) as spark, asked_to_end() as over, part:
        from headway.spark.runtime import Runtime

        with Runtime(spark, policy, slots=places, journal=journal, leasing=part.leasing(spark)) as rt:
            _serve(rt, name, listening, part, _Reached(address, tuple(peer or ()), ca), bandwidth, over)
    typer.echo(f"node {name} has stopped")


def _serve(
    rt: Any,
    name: str,
    listening: Listening,
    part: FleetPart,
    reached: "_Reached",
    bandwidth: float | None,
    over: threading.Event,
) -> None:
    """Until it is asked to end."""
    from headway.spark.fleet.host import RuntimeHost

    jvm = psutil.Process(rt.spark._jvm.java.lang.ProcessHandle.current().pid())
    machine = MachineGauge([jvm.pid])
    run = secrets.token_hex(8)
    host = RuntimeHost(rt, name, run)
    hosting = part.host(host)
    reporter = StatusReporter(name, hosting, machine, bandwidth, run=run)
    token = listening.token or _made_up(name)
    server = NodeServer(application(CommandDesk(hosting, wall_now), reporter, token, shelf=host.shelf), listening)
    if not listening.local and listening.cert is None:
        aloud(f"the token goes over the network as plain text: give node {name!r} a certificate")
    here = reached.address or server.address
    host.origins.peers = peers = PeerCheckpoints(others_of(reached.peers, part.listed, here), token, reached.ca)
    stages = StageWatch(
        lambda: reporter.status, addresses_of(reached.peers, part.listed, here),
        lambda url: NodeClient(url, token, ca=reached.ca, attempts=1), rt.plane.post,
    ) if rt.plane is not None else None  # fmt: skip
    reporter.start()
    server.start()
    try:
        part.begin(here, arguments.cores(None))
        if stages is not None:
            stages.start()
        typer.echo(f"node {name} at {server.address}")
        while not over.wait(LOOK_S):
            _end_without(jvm, name)
    finally:
        if stages is not None:
            stages.stop()
        server.stop()
        reporter.stop()
        peers.close()


def _end_without(jvm: psutil.Process, name: str) -> None:
    """A node whose JVM has been killed can run nothing more, and must not be taken for one that serves.

    It ends as if it had been killed itself: its leases go when its session has expired, and by then nothing of it is left.
    """
    with suppress(psutil.NoSuchProcess):
        if jvm.is_running() and jvm.status() != psutil.STATUS_ZOMBIE:
            return
    aloud(f"node {name!r} ends at once: its JVM, process {jvm.pid}, has ended")
    os._exit(1)


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        token = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("token-file", str(file), f"a file with a token in it: {type(error).__name__}") from None
    if any(letter.isspace() for letter in token):
        raise SettingError("token-file", str(file), "a file with one word in it, the token")
    return token


def _made_up(name: str) -> str:
    """A token of this run, in a file that only this user may read."""
    token, file = secrets.token_urlsafe(32), state_folder() / f"node-{os.getpid()}.token"
    with open(os.open(file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as out:
        out.write(token)
    aloud(f"the token of node {name!r} for this run is in {file}")
    return token


def _settings(texts: list[str]) -> dict[str, str]:
    pairs = [one.partition("=") for one in texts]
    for text, (key, equals, _) in zip(texts, pairs, strict=True):
        if not key.strip() or not equals:
            raise SettingError("conf", text, "KEY=VALUE")
    return {key.strip(): value for key, _, value in pairs}


@contextmanager
def _spark(name: str, master: str, memory: str, kafka: bool, conf: dict[str, str]) -> Iterator[Any]:
    if master.startswith(LOCAL) and master.endswith("]"):
        inside = master[len(LOCAL) : -1]
        cores = arguments.cores(None) if inside == "*" else arguments.whole("master", inside)
        more = {key.replace(".", "__"): value for key, value in conf.items()}
        with screen.spark_session(f"headway-{name}", cores=cores, memory=memory, kafka=kafka, **more) as spark:
            yield spark
        return
    from headway.spark.session import on

    if kafka:
        raise SettingError("kafka", True, f"local[N], where it is fetched; for {master} say --conf spark.jars.packages=...")
    spark = on(master, {"spark.driver.memory": memory, "spark.app.name": f"headway-{name}", **conf})
    try:
        yield spark
    finally:
        spark.stop()
