"""Sessions on a real ZooKeeper: what kazoo and the server do, as we rely on it."""

import os
import signal
import threading
from pathlib import Path

import pytest

from fleet.trees import TIMEOUT_MS, RunningZooKeeper, ZooKeeperWorld, refused, wait_until
from headway.errors import HeadwayError, SettingError
from headway.fleet.session import (
    CheckNode,
    Committed,
    DropNode,
    MakeNode,
    Rejected,
    SessionChanged,
    SessionMessage,
    SessionOver,
    SessionState,
    SetNode,
    TreeStep,
    Unheard,
)
from headway.fleet.zookeeper import server
from headway.fleet.zookeeper.session import open_session

pytestmark = pytest.mark.spark


def states(told: list[SessionMessage]) -> list[SessionState]:
    return [message.state for message in told if isinstance(message, SessionChanged)]


def test_nobody_answers_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"zookeeper = '127\.0\.0\.1:1': expected a server that answers within 0\.5 s"):
        open_session("127.0.0.1:1", "test", start_s=0.5)
    assert "expected host:port" in refused(lambda: open_session("127.0.0.1:port", "test"))
    assert "secret = '...': expected user:password" in refused(lambda: open_session("127.0.0.1:1", "test", secret="hush"))


def test_the_timeout_is_the_one_that_the_server_has_granted(zookeeper: RunningZooKeeper) -> None:
    with open_session(zookeeper.address, "hasty", timeout_ms=100) as session:
        assert session.timeout_ms == 400, "two ticks"
    with open_session(zookeeper.address, "slow", timeout_ms=1_000_000) as session:
        assert session.timeout_ms == server.LONGEST_SESSION_MS


def test_a_session_that_beats_stays_sure(zookeeper: RunningZooKeeper) -> None:
    beats = threading.Semaphore(0)
    with open_session(zookeeper.address, "test", timeout_ms=TIMEOUT_MS) as session:
        session.on_beat(beats.release)
        assert all(beats.acquire(timeout=30) for _ in range(8)) and session.sure()
    assert not session.sure() and session.state is SessionState.OVER


def test_a_server_that_hangs_makes_everybody_unsure_and_nothing_is_done_later(
    zookeeper: RunningZooKeeper, root: str
) -> None:
    """Stopped, not killed: the connection stands, and nothing comes through it."""
    told: list[SessionMessage] = []
    with open_session(zookeeper.address, "test", timeout_ms=TIMEOUT_MS, tell=told.append) as session:
        session.ensure(root)
        os.kill(zookeeper.server.pid, signal.SIGSTOP)
        try:
            with pytest.raises(Unheard, match=r"no answer|suspended"):
                session.read(root)
            wait_until(lambda: session.state is SessionState.SUSPENDED, "the session knows that it is suspended")
            with pytest.raises(Unheard, match="suspended"):
                session.commit(MakeNode(f"{root}/late"))
            wait_until(lambda: not session.sure(), "our clock says that we may have been given up")
        finally:
            os.kill(zookeeper.server.pid, signal.SIGCONT)
        wait_until(lambda: session.state is not SessionState.SUSPENDED, "it is heard of again")
    with open_session(zookeeper.address, "other", timeout_ms=TIMEOUT_MS) as other:
        assert other.children(root) == (), "what was asked for while it was away was not done"
    assert states(told)[0] is SessionState.SUSPENDED and states(told)[-1] is SessionState.OVER


def test_a_session_that_is_lost_stays_lost_and_its_client_ends(zookeeper: RunningZooKeeper, root: str) -> None:
    """kazoo would go on in another session in silence, where nothing of ours is."""
    told: list[SessionMessage] = []
    world = ZooKeeperWorld(zookeeper.server)
    session = world.open("test", told.append)
    session.commit(MakeNode(root, life="session"))
    world.expire(session)
    wait_until(lambda: session._client._connection.connection_closed.is_set(), "the client has been stopped aside")
    assert states(told)[-1] is SessionState.OVER
    with pytest.raises(SessionOver, match="is over"):
        session.read(root)
    session.close()
    with world.open("other") as other:
        assert other.read(root) is None


def test_a_commit_does_all_or_nothing_and_says_what_was_in_the_way(zookeeper: RunningZooKeeper, root: str) -> None:
    with open_session(zookeeper.address, "test", timeout_ms=TIMEOUT_MS) as session:
        assert session.commit(MakeNode(root), MakeNode(f"{root}/a", "x")) == Committed((root, f"{root}/a"), (0, 0))
        wrong: dict[str, TreeStep] = {
            "version": SetNode(f"{root}/a", "y", 7),
            "missing": CheckNode(f"{root}/b", 0),
            "exists": MakeNode(f"{root}/a"),
            "children": DropNode(root, 0),
        }
        for why, step in wrong.items():
            done = session.commit(MakeNode(f"{root}/new"), step, MakeNode(f"{root}/after"))
            assert isinstance(done, Rejected) and (done.step, done.why) == (step, why)
        assert session.children(root) == ("a",)
        fine = session.commit(CheckNode(root, 0), SetNode(f"{root}/a", "y", 0), DropNode(f"{root}/a", 1))
        assert fine == Committed((root, f"{root}/a", f"{root}/a"), (0, 1, 1))


def test_more_than_it_takes_is_told_before_it_hangs_up(zookeeper: RunningZooKeeper, root: str) -> None:
    with open_session(zookeeper.address, "test", timeout_ms=TIMEOUT_MS) as session:
        with pytest.raises(HeadwayError, match=r"has 1,000,000 bytes: ZooKeeper takes 900,000"):
            session.commit(MakeNode(root, "x" * 1_000_000))
        assert session.state is SessionState.CONNECTED


def test_with_a_secret_nobody_else_reads_or_writes(zookeeper: RunningZooKeeper, root: str) -> None:
    with open_session(zookeeper.address, "ours", timeout_ms=TIMEOUT_MS, secret="fleet:hush") as ours:
        ours.ensure(root)
        with open_session(zookeeper.address, "theirs", timeout_ms=TIMEOUT_MS, secret="fleet:guess") as theirs:
            assert "NoAuthError: is it the right secret" in refused(lambda: theirs.read(root))
            assert "NoAuthError" in refused(lambda: theirs.commit(MakeNode(f"{root}/intruder")))
        assert ours.children(root) == ()
        ours.commit(DropNode(root, 0))
