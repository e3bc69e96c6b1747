"""A site that is held down: what computes there is killed and stays dead, its broker lives; and all of it comes back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.servers import process as servers
from headway.servers.process import ServerProcess
from headway.wan.held_sites import HeldSites
from headway.wan.site_servers import SiteServers, SiteSize
from headway.wan.testbed import WanTestbed

BED = WanTestbed(0, 0.0, ("a", "b"), (0, 0))
KINDS = ("node", "agent", "broker")


@pytest.fixture
def sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SiteServers]:
    """Sleepers in place of all servers."""

    def start(self: SiteServers, site: str, kind: str) -> None:
        process = servers.launched(["sleep", "600"], tmp_path, ends_with_parent=True)
        self._running[site, kind] = ServerProcess(1, process.pid, str(tmp_path), servers.born(process))

    monkeypatch.setattr(SiteServers, "_start", start)
    made = SiteServers(BED, tmp_path, SiteSize(), lambda line: None, HeldSites(tmp_path / "held"))
    for site in BED.names:
        for kind in KINDS:
            start(made, site, kind)
    yield made
    made.stop()


def alive(sites: SiteServers) -> set[str]:
    return {f"{kind} of {site}" for site in BED.names for kind in KINDS if sites.process(site, kind).alive}


def test_what_computes_at_a_held_site_is_killed_and_comes_back_when_it_is_released(
    sites: SiteServers, tmp_path: Path
) -> None:
    held, everything = HeldSites(tmp_path / "held"), alive(sites)
    assert len(everything) == 6 and sites.look_after() == []
    held.hold("b")
    assert sites.look_after() == [
        "the node of b is killed, and stays down until the site is up",
        "the agent of b is killed, and stays down until the site is up",
    ]
    assert sites.look_after() == [] and alive(sites) == everything - {"node of b", "agent of b"}
    sites.process("a", "node").kill()
    assert sites.look_after() == ["the node of a had ended, and is started again"], "other sites are looked after"
    held.release("b")
    assert len(sites.look_after()) == 2 and alive(sites) == everything


def test_sites_are_held_and_released_one_by_one(tmp_path: Path) -> None:
    held = HeldSites(tmp_path / "held")
    assert held.names == frozenset()
    held.hold("a")
    held.hold("b")
    held.hold("b")
    held.release("a")
    assert held.names == {"b"}
    held.forget()
    held.forget()
    assert held.names == frozenset()
