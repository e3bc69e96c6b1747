"""The pages of one query and of sampled ones, as answers: stretches, progress, bounds."""

from pathlib import Path

import numpy as np
import pytest

from dashboard.worlds import BEGAN, write, write_fleet, write_sampled
from headway.dashboard.desk import PageDesk
from headway.dashboard.glance import Glance
from headway.dashboard.query_page import histogram_of
from headway.errors import SettingError
from headway.model.sampling import StreamView
from headway.sim.microbatch import VirtualWorld


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[VirtualWorld, PageDesk]:
    path = tmp_path_factory.mktemp("journal") / "run.db"
    return write(path, ["alerts", "books"], 60, fixed_ms=200), desk(path)


def desk(path: Path) -> PageDesk:
    glance = Glance(path, now=lambda: BEGAN + 61_000)
    while glance.look():
        continue
    return PageDesk(glance)


def test_a_stretch_has_its_batches_and_their_windows(made: tuple[VirtualWorld, PageDesk]) -> None:
    world, page = made
    since, upto = BEGAN + 20_000, BEGAN + 35_000
    told = page.query("books", since, upto)
    ran = [b for b in world.batches if b.query == "books" and since <= b.ended <= upto]
    assert [(b["batch"], b["at"], b["rows"]) for b in told["batches"]] == [(b.batch, b.ended, b.rows) for b in ran] != []
    out = {w.end: w.latency_ms for w in world.windows if w.query == "books" and since <= w.end + w.latency_ms <= upto}
    assert {w["end"]: w["latency_ms"] for w in told["windows"]}.items() >= dict(list(out.items())[1:-1]).items() != {}
    assert told["first"] <= ran[0].ended and page.query("books")["batches"][-1]["at"] > upto


def test_a_stretch_that_is_none_is_refused(made: tuple[VirtualWorld, PageDesk]) -> None:
    with pytest.raises(SettingError, match="a moment before `upto`"):
        made[1].query("books", 5, 5)


def test_progress_goes_from_what_is_out_to_what_is_open(made: tuple[VirtualWorld, PageDesk]) -> None:
    told = made[1].query("books")
    states = [w["state"] for w in told["progress"]]
    assert states == sorted(states, key=["out", "announced", "open"].index) and {"out", "open"} <= set(states)
    for window in told["progress"]:
        assert (window["end"] <= told["swept"]) == (window["state"] == "out") and 0 <= window["read"] <= 1
        assert window["due"] == window["end"] + 200 and (window["end"] - BEGAN) % 3_000 == 0


def test_few_bins_of_delays_are_shown_as_they_are() -> None:
    seen = StreamView(600, 3_000, 3_000, delays=((20.0, 0.3), (60.0, 0.8), (100.0, 1.0)))
    shown = histogram_of(seen)
    assert [(low, high) for low, high, _ in shown] == [(0.0, 20.0), (20.0, 60.0), (60.0, 100.0)]
    assert [share for *_, share in shown] == pytest.approx([0.3, 0.5, 0.2])


def test_the_bound_of_a_sample_is_that_of_its_size(tmp_path: Path) -> None:
    write_sampled(tmp_path / "run.db")
    (told,) = desk(tmp_path / "run.db").approximate()["inputs"]
    assert len(told["bounds"]) == len(told["series"]) > 5 and told["windows"]
    # The values of the last: mean 10, and this spread; of 300,000 rows of a window the share that was taken.
    sd, share = 4.0 + len(told["series"]) - 1, told["share"]
    wanted = 1.959964 * sd / 10 / np.sqrt(share * 300_000) * np.sqrt(1 - share)
    assert told["bounds"][-1][1] == pytest.approx(wanted, rel=1e-4) and 0 < wanted <= 0.05


def test_the_fleet_has_rings_and_moves(tmp_path: Path) -> None:
    write_fleet(tmp_path / "run.db")
    told = desk(tmp_path / "run.db").fleet(None)
    assert len(told["nodes"]) == 3 and {m["kind"] for m in told["moves"]} & {"move", "refuse", "start"}
    assert all(len(n["ring"]["values"]) == len(n["ring"]["lengths_ms"]) * n["ring"]["windows"] for n in told["nodes"])
