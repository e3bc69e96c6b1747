"""Jars by coordinates: fetched once, all or nothing, and one line where they cannot be had."""

from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.kafka import jars
from headway.kafka.jars import Bundle

NOWHERE = Bundle("nothing-1", ("org.nowhere:nothing:1",), transitive=False)


@pytest.fixture
def unreachable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a repository that has nothing."""
    empty = tmp_path / "repository"
    empty.mkdir()
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        '<ivysettings><settings defaultResolver="here"/><resolvers><filesystem name="here" m2compatible="true">'
        f'<ivy pattern="{empty}/[module]-[revision].pom"/><artifact pattern="{empty}/[artifact]-[revision].[ext]"/>'
        "</filesystem></resolvers></ivysettings>"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("HEADWAY_IVY", str(settings))
    return empty


def test_without_cache_and_repository_one_line_tells_the_way_out(unreachable: Path) -> None:
    with pytest.raises(HeadwayError, match=r"org.nowhere:nothing:1: neither in .*nothing-1 nor .*HEADWAY_IVY") as caught:
        jars.fetched(NOWHERE)
    assert "\n" not in str(caught.value)
    assert not jars.cached(NOWHERE), "nothing half fetched stays behind"


def test_what_is_cached_is_taken_from_there(unreachable: Path) -> None:
    folder = jars.cache() / NOWHERE.name
    folder.mkdir(parents=True)
    (folder / "nothing-1.jar").touch()
    assert jars.fetched(NOWHERE) == [folder / "nothing-1.jar"]


def test_a_house_may_have_its_own_repository(unreachable: Path) -> None:
    (unreachable / "nothing-1.jar").write_bytes(b"PK\x05\x06" + bytes(18))
    (unreachable / "nothing-1.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.nowhere</groupId><artifactId>nothing</artifactId>"
        "<version>1</version></project>"
    )
    assert [jar.name for jar in jars.fetched(NOWHERE)] == ["nothing-1.jar"]
    (unreachable / "nothing-1.jar").unlink()
    assert [jar.name for jar in jars.fetched(NOWHERE)] == ["nothing-1.jar"], "the second time it asks nobody"
