"""What the dashboard answers: pages, JSON, refusals."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dashboard.served import TOKEN, served
from dashboard.worlds import BEGAN, NASTY, write
from headway.cli.app import main
from headway.dashboard.app import PAGES
from headway.dashboard.glance import Glance
from headway.sim.microbatch import VirtualWorld

APIS = ("overview", "timeline", f"query?name={'books'}", "story?name=books", "decisions", "approximate", "fleet", "area")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[VirtualWorld, Path]:
    path = tmp_path_factory.mktemp("journal") / "run.db"
    return write(path, ["alerts", "books", NASTY], 60, fixed_ms=200), path


@pytest.fixture(scope="module")
def site(made: tuple[VirtualWorld, Path]) -> Iterator[tuple[httpx.Client, Glance]]:
    with served(made[1]) as (address, glance), httpx.Client(base_url=address, timeout=20) as client:
        yield client, glance


@pytest.mark.parametrize("api", APIS)
def test_every_page_has_its_answer(site: tuple[httpx.Client, Glance], api: str) -> None:
    answer = site[0].get(f"/api/{api}")
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/json" and answer.json()


def test_the_timeline_has_the_batches_of_its_stretch(
    made: tuple[VirtualWorld, Path], site: tuple[httpx.Client, Glance]
) -> None:
    since, upto = BEGAN + 20_000, BEGAN + 30_000
    told = site[0].get("/api/timeline", params={"since": since, "upto": upto}).json()
    ran = {(b.query, b.batch, b.began, b.ended) for b in made[0].batches if b.ended >= since and b.began < upto}
    assert {(b["query"], b["batch"], b["began"], b["at"]) for b in told["bars"]} == ran and ran
    assert {b["lane"] for b in told["bars"]} == {0}, "there is one slot"
    emitted = {(w.query, w.end): w.latency_ms for w in made[0].windows if w.query == "books"}
    latencies = [
        (b["query"], end, b["at"] - due) for b in told["bars"][3:] for end, due in zip(b["ends"], b["due"], strict=True)
    ]
    assert {(q, e): ms for q, e, ms in latencies if q == "books"}.items() <= emitted.items()


def test_the_whole_journal_can_be_scrolled_through(site: tuple[httpx.Client, Glance]) -> None:
    client, glance = site
    seen, before = list[int](), None
    while True:
        told = client.get("/api/decisions", params={"limit": 40, **({} if before is None else {"before": before})}).json()
        if not told["lines"]:
            break
        seen += [line["id"] for line in told["lines"]]
        before = seen[-1]
    assert seen == list(range(told["last"], told["first"] - 1, -1)) and len(seen) == sum(glance.book.decisions.values())


def test_decisions_are_found_by_time_query_and_question(site: tuple[httpx.Client, Glance]) -> None:
    client, _ = site
    at = BEGAN + 30_000
    found = client.get("/api/decisions", params={"at": at, "query": "books", "question": "order"}).json()["lines"]
    assert found and all(line["at"] <= at and line["query"] == "books" for line in found)
    assert (
        "batch" in found[0]["effect"]
        and "took 230 ms for 3,000 rows" in found[0]["effect"]
        and "came out" in found[0]["effect"]
    )
    later = client.get("/api/decisions", params={"after": found[0]["id"], "query": "books"}).json()["lines"]
    assert later[-1]["id"] > found[0]["id"]
    patience = client.get("/api/decisions", params={"question": "patience"}).json()["lines"]
    assert patience and {line["question"] for line in patience} == {"patience"}
    assert any("rows late in the" in line["effect"] for line in patience)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/query?name=nobody", 404), ("/api/query", 422), ("/api/story?name=books&window=x", 422),
        ("/api/story?name=books&window=5", 400), ("/api/timeline?since=9&upto=5", 400), ("/api/timeline?since=x", 422),
        ("/api/timeline?since=0&upto=99999999999", 400), ("/api/decisions?before=-1", 400),
        ("/api/decisions?question=why", 400), ("/api/decisions?limit=many", 400), ("/api/fleet?before=x", 422),
        ("/api/area?before=x", 422),
        ("/nothing", 404), ("/../run.db", 404), ("/%2e%2e/desk.py", 404), (f"/api/query?name={'n' * 5000}", 414),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(site: tuple[httpx.Client, Glance], path: str, status: int) -> None:
    answer = site[0].get(path)
    assert answer.status_code == status and "Traceback" not in answer.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_nothing_can_be_changed(site: tuple[httpx.Client, Glance], method: str) -> None:
    assert site[0].request(method, "/api/overview").status_code == 405


def test_every_answer_forbids_scripts_and_requests_of_elsewhere(site: tuple[httpx.Client, Glance]) -> None:
    for path in ("/", "/style.css", "/api/overview", "/nothing", "/metrics"):
        heads = site[0].get(path).headers
        assert "default-src 'none'; script-src 'self'" in heads["content-security-policy"]
        assert heads["x-content-type-options"] == "nosniff" and heads["cache-control"] == "no-store"


def test_no_page_names_another_host() -> None:
    files = [file for file in PAGES.iterdir() if file.suffix in {".html", ".css", ".js"}]
    named = {file.name: file.read_text().replace("http://www.w3.org/2000/svg", "") for file in files}
    assert len(named) > 10 and {name for name, text in named.items() if "http://" in text or "https://" in text} == set()


def test_no_page_makes_html_of_text() -> None:
    scripts = [file.read_text() for file in PAGES.glob("*.js")]
    risky = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
    assert scripts and not any(word in text for text in scripts for word in risky)


def test_a_name_like_html_is_told_as_text(site: tuple[httpx.Client, Glance]) -> None:
    told = site[0].get("/api/query", params={"name": NASTY})
    assert told.headers["content-type"] == "application/json" and told.json()["row"]["name"] == NASTY
    assert f'query="{NASTY}"' in site[0].get("/metrics").text


def test_a_page_of_elsewhere_that_leads_here_reads_nothing(site: tuple[httpx.Client, Glance]) -> None:
    assert site[0].get("/api/overview", headers={"host": "evil.example"}).status_code == 403
    assert site[0].get("/api/overview", headers={"host": "localhost:1"}).status_code == 200


def test_what_is_new_comes_as_a_stream(site: tuple[httpx.Client, Glance]) -> None:
    with site[0].stream("GET", "/api/stream") as answer:
        lines = answer.iter_lines()
        assert next(lines) == "event: rows"
        told = json.loads(next(lines).removeprefix("data: "))
    assert {row["name"] for row in told["rows"]} == {"alerts", "books", NASTY}


def test_with_a_token_nobody_else_sees_anything(made: tuple[VirtualWorld, Path]) -> None:
    with served(made[1], TOKEN) as (address, _), httpx.Client(base_url=address) as client:
        for path in ("/api/overview", "/api/stream", "/metrics", "/app.js", "/nothing"):
            assert client.get(path).status_code == 401
            assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
        asked = client.get("/")
        assert asked.status_code == 401 and "Token of this dashboard" in asked.text and TOKEN not in asked.text
        assert client.get("/style.css").status_code == 200
        assert client.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_browser_keeps_a_cookie_that_is_not_the_token(made: tuple[VirtualWorld, Path]) -> None:
    with served(made[1], TOKEN) as (address, _), httpx.Client(base_url=address) as client:
        assert client.post("/login", data={"token": "wrong"}).status_code == 401
        let_in = client.post("/login", data={"token": TOKEN})
        assert let_in.status_code == 303 and TOKEN not in let_in.headers["set-cookie"]
        assert "HttpOnly; SameSite=Strict" in let_in.headers["set-cookie"]
        assert client.get("/api/overview").status_code == 200, "the client has kept the cookie"
        page = client.get("/").text + client.get("/api/overview").text
        assert TOKEN not in page
        assert client.post("/login", content=b"token=" + b"x" * 9_000).status_code == 413


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["--host", "0.0.0.0"], "a token, since 0.0.0.0 is not loopback"),
        (["--token-file", "/nowhere"], "a file with a secret in it"),
        (["--target", "soon"], "target = 'soon'"),
        (["--port", "99999"], "an address that is free"),
    ],
)
def test_what_cannot_work_is_told_in_a_line(
    made: tuple[VirtualWorld, Path], capsys: pytest.CaptureFixture[str], typed: list[str], says: str
) -> None:
    assert main(["dashboard", str(made[1]), *typed]) == 2
    assert says in capsys.readouterr().err


def test_a_file_that_is_no_journal_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.db").write_text("no journal")
    assert main(["dashboard", str(tmp_path / "x.db")]) == 2
    assert "expected a headway journal" in capsys.readouterr().err
