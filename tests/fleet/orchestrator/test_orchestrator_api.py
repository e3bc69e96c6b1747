"""The door of an orchestrator over real HTTP: who is let in, and what is refused, in one line."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from fleet.orchestrator.fleet_in_memory import TOKEN, FleetInMemory
from headway.errors import SettingError
from headway.fleet.node import reporter
from headway.fleet.node.app import MOST_BYTES
from headway.fleet.orchestrator import statuses
from headway.fleet.orchestrator.api import PipelineShelf
from headway.fleet.orchestrator.wire import SCHEMA

MOVE = {"id": "m1", "query": "nobody", "node": "n1", "schema": SCHEMA}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the primary of a fleet that hosts nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reporter, "EVERY_S", 0.1)
        patch.setattr(statuses, "EVERY_S", 0.1)
        fleet = FleetInMemory(tmp_path_factory.mktemp("fleet"), nodes=["n1"]).ready()
        yield fleet.orchestrators[fleet.primary()].address
        fleet.close()


def asked(address: str, path: str, body: bytes | None, token: str | None = TOKEN) -> tuple[int, str]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    kind = "GET" if body is None else "POST"
    answer = httpx.request(kind, f"{address}{path}", content=body, headers=headers, trust_env=False)
    return answer.status_code, answer.text


@pytest.mark.parametrize("token", [None, "wrong", TOKEN[:-1], TOKEN + "x"])
@pytest.mark.parametrize("path", ["/v1/status", "/v1/moves/m1/q", "/v1/move", "/v1/submit", "/"])
def test_without_the_token_nothing_is_told_or_done(address: str, path: str, token: str | None) -> None:
    for body in (None, json.dumps(MOVE).encode()):
        code, text = asked(address, path, body, token)
        assert code == 401 and "n1" not in text


@pytest.mark.parametrize(
    ("path", "body", "code", "says"),
    [
        ("/v1/move", b"", 400, "MoveWanted: expected JSON"),
        ("/v1/move", b"[]", 400, "MoveWanted: expected an object"),
        ("/v1/move", b"{}", 400, "MoveWanted.id is missing"),
        ("/v1/move", json.dumps(MOVE | {"hurry": True}).encode(), 400, "MoveWanted.hurry is no field that we know"),
        ("/v1/move", json.dumps(MOVE | {"timeout_ms": "soon"}).encode(), 400, "MoveWanted.timeout_ms = 'soon': expected a"),
        ("/v1/move", json.dumps(MOVE | {"on_timeout": "hope"}).encode(), 400, "expected one of rollback, force"),
        ("/v1/move", json.dumps(MOVE | {"schema": SCHEMA + 1}).encode(), 409, f"expected {SCHEMA}; update the older side"),
        ("/v1/destroy", b"{}", 400, "action = 'destroy': expected one of submit, move, upgrade, stop, drain"),
        ("/v1/move", b" " * (MOST_BYTES + 1), 413, f"the body has more than {MOST_BYTES} bytes"),
        (
            "/v1/submit",
            json.dumps({"id": "s1", "query": "q", "file": "q.py", "text": "def ("}).encode(),
            400,
            "file = 'q.py': expected a pipeline file, but line 1 is not Python",
        ),
    ],
)
def test_what_cannot_be_understood_is_refused_in_one_line(
    address: str, path: str, body: bytes, code: int, says: str
) -> None:
    found, text = asked(address, path, body)
    line = json.loads(text)["error"]
    assert found == code and says in line and "\n" not in line


def test_an_unknown_query_is_an_answer_and_asked_again_it_is_the_same_answer(address: str) -> None:
    first, again = (asked(address, "/v1/move", json.dumps(MOVE).encode()) for _ in range(2))
    assert first == again and first[0] == 200
    assert json.loads(first[1])["accepted"] is False and "expected a query of this fleet" in first[1]
    assert json.loads(asked(address, "/v1/moves/m1/nobody", None)[1])["state"] == "unknown"


def test_a_file_is_kept_once_by_what_is_in_it(tmp_path: Path) -> None:
    shelf = PipelineShelf(tmp_path)
    first = shelf.put("/somewhere/a.py", "x = 1\n")
    assert shelf.put("elsewhere/a.py", "x = 1\n") == first and shelf.put("a.py", "x = 2\n") != first
    assert Path(first).name == "a.py" and Path(first).read_text() == "x = 1\n"
    with pytest.raises(SettingError, match=r"expected a name that ends with \.py"):
        shelf.put("../../etc/passwd", "x = 1\n")
    assert sorted(file.name for file in tmp_path.rglob("*.py")) == ["a.py", "a.py"]
