"""The faults, each done for real: a block in which its consequences are waited for, and at whose end it is mended."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from headway_lab.experiments.fleet_faults.record_watch import STEPS
from headway_lab.experiments.fleet_faults.scene import STUCK_S, FaultDone, FaultScene, MoveUnderWay, until
from headway_lab.experiments.fleet_faults.trial_fleet import APART, NODES, ORCHESTRATORS, ZOOKEEPER
from headway_lab.workloads.wall_clock import now_ms

AWAY_S = 10.0  # that ZooKeeper is away
END_S = 30.0  # for a node to find out that its JVM is dead
LATER = 4  # of so many nodes that were killed, one is not started again at once
ENDS = ("done", "undone", "home")
HELD_S = 30.0  # for a batch to come into the sink
Fault = Callable[[FaultScene], AbstractContextManager[FaultDone]]


@contextmanager
def node_killed(scene: FaultScene) -> Iterator[FaultDone]:
    """All of it, its Python alone or its JVM alone; started again at once, now and then when its queries run elsewhere."""
    node, later = scene.busy_node(), scene.number % LATER == LATER - 1
    kills = {"all": scene.fleet.kill, "python": scene.fleet.kill_python, "jvm": scene.fleet.kill_jvm}
    what = list(kills)[scene.number % len(kills)]
    since = now_ms()
    kills[what](node)
    until(lambda: not scene.fleet.members[node].alive, END_S, f"{node} does not end although its {what} is dead")
    if not later:
        scene.fleet.begin(node)
    yield FaultDone(f"{what}, started again {'later' if later else 'at once'}", since)
    if later:
        scene.fleet.begin(node)


@contextmanager
def primary_killed(scene: FaultScene) -> Iterator[FaultDone]:
    """At rest, or at some step of a move."""
    primary = scene.primary()
    (other,) = [name for name in ORCHESTRATORS if name != primary]
    with _perhaps_moving(scene) as (move, at):
        since = now_ms()
        scene.fleet.kill(primary)
        took = scene.takeover(other)
    done = FaultDone(at, since, takeover_s=took)
    yield done
    scene.fleet.begin(primary)
    _finish(scene, move, done)


@contextmanager
def orchestrators_killed(scene: FaultScene) -> Iterator[FaultDone]:
    """Both. At rest the queries must go on without them; a move that is under way must be gone on with afterwards."""
    with _perhaps_moving(scene) as (move, at):
        since = now_ms()
        for name in ORCHESTRATORS:
            scene.fleet.kill(name)
    done = FaultDone(at, since)
    if move is None:
        yield done
    for name in ORCHESTRATORS:
        scene.fleet.begin(name)
    done.takeover_s = scene.takeover(*ORCHESTRATORS)
    if move is not None:
        yield done
    _finish(scene, move, done)


@contextmanager
def zookeeper_away(scene: FaultScene) -> Iterator[FaultDone]:
    """For ten seconds, killed or frozen; at rest or at some step of a move."""
    killed = scene.number % 4 < 2
    with _perhaps_moving(scene) as (move, at):
        if killed:
            scene.fleet.members[ZOOKEEPER].kill()
        with nullcontext() if killed else scene.fleet.frozen(ZOOKEEPER):
            time.sleep(AWAY_S)
        if killed:
            scene.fleet.begin(ZOOKEEPER)
        since = now_ms()
    done = FaultDone(f"{'killed' if killed else 'stopped'}, {at}", since)
    yield done
    _finish(scene, move, done)


@contextmanager
def node_paused(scene: FaultScene) -> Iterator[FaultDone]:
    """Until its queries run elsewhere, which is when its leases are over; every other time in the midst of a batch."""
    node = scene.busy_node()
    pid, in_sink = scene.pid(node), scene.number % 2 == 0
    if in_sink:
        scene.sinks.hold(pid)
        until(lambda: scene.sinks.held(pid), HELD_S, "no batch comes into the sink")
    try:
        with scene.fleet.frozen(node):
            yield FaultDone("before its sink" if in_sink else "anywhere", now_ms())
            scene.sinks.let_go(pid)  # it goes on where it stood as soon as it wakes
    finally:
        scene.sinks.let_go(pid)


@contextmanager
def node_cut(scene: FaultScene) -> Iterator[FaultDone]:
    """Between the node with a network of its own and everything else, but for the disks."""
    assert scene.fleet.apart is not None, "chosen only where there is one"
    if all(one.node != APART for one in scene.standing().queries):
        _brought(scene, APART)
    done = FaultDone("until its queries run elsewhere", now_ms())
    scene.fleet.apart.cut()
    try:
        # They put out windows for as long as their leases are surely theirs.
        until(lambda: all(one.node != APART for one in scene.standing().queries), STUCK_S, f"queries stay on {APART}")
        done.since_ms = now_ms()
        yield done
    finally:
        scene.fleet.apart.mend()


@contextmanager
def target_killed(scene: FaultScene) -> Iterator[FaultDone]:
    """In the middle of a move."""
    steps = ("prepared", "drained", "copied", "started")
    with scene.move_at(steps[scene.number % len(steps)]) as (move, at):
        since = now_ms()
        scene.fleet.kill(move.target)
        scene.fleet.begin(move.target)
    done = FaultDone(at, since)
    yield done
    _finish(scene, move, done)


@contextmanager
def two_moves(scene: FaultScene) -> Iterator[FaultDone]:
    """Of one query at once: one is refused, in one line that names the other."""
    one = scene.chance.choice(scene.standing().queries)
    source = str(one.node)
    targets = [node for node in (*scene.serving(), *NODES) if node != source][:2]
    asked = [(*scene.ask_move(one.name, target), target) for target in targets]
    answers = [(id, future.result(60), target, future) for id, future, target in asked]
    done = FaultDone("at once", now_ms())
    accepted = [answer for answer in answers if answer[1].accepted]
    refused = [answer[1].line for answer in answers if not answer[1].accepted]
    if len(accepted) != 1 or f"move {accepted[0][0]} to" not in refused[0] or "\n" in refused[0]:
        done.trouble = f"{len(accepted)} of two moves were accepted: {'; '.join(refused)}"
    yield done
    for id, _, target, future in accepted:
        _finish(scene, MoveUnderWay(id, one.name, source, target, future), done)


@contextmanager
def _perhaps_moving(scene: FaultScene) -> Iterator[tuple[MoveUnderWay | None, str]]:
    """Every other time a move is under way, each time at another step."""
    if scene.number % 2 == 0:
        yield None, "at rest"
        return
    with scene.move_at(STEPS[scene.number // 2 % len(STEPS)]) as (move, at):
        yield move, at


def _finish(scene: FaultScene, move: MoveUnderWay | None, done: FaultDone) -> None:
    """A move that has begun ends: it is done, undone or gone home, and the caller that asked for it is told."""
    if move is not None:
        done.outcome = scene.outcome(move)
        if done.outcome not in ENDS:
            done.trouble = f"{done.trouble} a move ends as {done.outcome!r}".strip()


def _brought(scene: FaultScene, node: str) -> None:
    """Some query is moved there."""
    one = scene.chance.choice(scene.standing().queries)
    id, asked = scene.ask_move(one.name, node)
    scene.outcome(MoveUnderWay(id, one.name, str(one.node), node, asked))


# One that leaves a node to be started is followed by one that can do without it.
FAULTS: dict[str, Fault] = {
    "kill-node": node_killed,
    "kill-primary": primary_killed,
    "pause-node": node_paused,
    "zookeeper-away": zookeeper_away,
    "kill-target": target_killed,
    "two-moves": two_moves,
    "cut-node": node_cut,
    "kill-orchestrators": orchestrators_killed,
}
NEEDS_NAMESPACE = "cut-node"
NEEDS_FEWER = {"kill-primary": 2, "two-moves": 2}  # nodes; a third may be on its way
