"""`headway kafka` as a person uses it, with a real broker."""

from pathlib import Path

import pytest

from headway.cli.app import main
from headway.kafka import topics
from headway.servers.process import free_port


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(["kafka", *args])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.spark
@pytest.mark.kafka
def test_up_replay_status_down(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    port = str(free_port())
    assert told(capsys, "up", "--port", port, "--folder", str(tmp_path / "data"))[0] == 0
    try:
        code, _, err = told(capsys, "up", "--port", port)
        assert code == 2 and "a broker runs already" in err
        code, out, _ = told(capsys, "replay", "ysb", "--seconds", "1", "--rate", "50", "--partitions", "2", "--topic", "ads")
        assert code == 0 and "50 rows into ads" in out
        assert sum(topics.ends(f"127.0.0.1:{port}", "ads").values()) == 50
        code, out, _ = told(capsys, "status")
        assert code == 0 and "ads: 2 partitions, 50 rows" in out
    finally:
        code, out, _ = told(capsys, "down", "--keep")
    assert code == 0 and "stopped, its data are in" in out and (tmp_path / "data").is_dir()
    code, out, _ = told(capsys, "status")
    assert code == 1 and "no broker runs" in out


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("down",), "there is nothing to stop"),
        (("replay", "ysb"), "to = None: expected host:port of a broker"),
        (("replay", "ysb", "--to", "127.0.0.1:1"), "kafka = '127.0.0.1:1': no broker answers"),
        (("replay", "nothing", "--to", "127.0.0.1:1"), "feed = 'nothing': expected one of ysb"),
        (("replay", "ysb", "--delay", "long", "--to", "127.0.0.1:1"), "delay = 'long': expected one of"),
        (("up", "--heap", "lots"), "memory = 'lots': expected a size"),
    ],
)
def test_what_cannot_work_is_told_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], says: str
) -> None:
    monkeypatch.setattr(topics, "TIMEOUT_S", 1)
    code, _, err = told(capsys, *args)
    assert code == 2 and says in err and err.count("\n") == 1
