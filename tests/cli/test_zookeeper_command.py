"""`headway zookeeper` as a person uses it, with a real server."""

from pathlib import Path

import pytest

from headway.cli import zookeeper
from headway.errors import HeadwayError
from headway.fleet.zookeeper.session import open_session
from headway.servers.process import free_port


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    """The exit code, and what was said; an error as the command line tells it."""
    try:
        code = zookeeper.app(args=list(args), prog_name="headway zookeeper", standalone_mode=False)
    except HeadwayError as error:
        assert "\n" not in str(error)
        return 2, str(error)
    return code or 0, capsys.readouterr().out


@pytest.mark.spark
def test_up_status_down(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    port, folder = str(free_port()), tmp_path / "data"
    code, out = told(capsys, "up", "--port", port, "--tick", "200", "--folder", str(folder))
    assert code == 0 and f"ZooKeeper listens on 127.0.0.1:{port}" in out
    try:
        code, out = told(capsys, "up", "--port", port)
        assert code == 2 and "a ZooKeeper runs already" in out
        with open_session(zookeeper.address(), "test", timeout_ms=2_000):
            code, out = told(capsys, "status")
        assert code == 0 and f"listens on 127.0.0.1:{port}" in out and "connections" in out
    finally:
        code, out = told(capsys, "down", "--keep")
    assert code == 0 and "stopped, its data are in" in out and folder.is_dir()
    code, out = told(capsys, "status")
    assert code == 1 and "no ZooKeeper runs" in out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("down",), "there is nothing to stop"),
        (("up", "--heap", "lots"), "memory = 'lots': expected a size"),
        (("up", "--tick", "1"), "tick = 1: expected 50 milliseconds or more"),
    ],
)
def test_what_cannot_work_is_told_in_one_line(capsys: pytest.CaptureFixture[str], args: tuple[str, ...], says: str) -> None:
    code, said = told(capsys, *args)
    assert code == 2 and says in said


def test_whoever_needs_one_is_told_how_to_start_it() -> None:
    with pytest.raises(HeadwayError, match=r"zookeeper = None: expected host:port .* `headway zookeeper up`"):
        zookeeper.address()
