"""Jars by coordinates: fetched once, all or nothing, and one line where they cannot be had."""

import os
import time
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.kafka import jars
from headway.kafka.jars import FALLBACK, Bundle

starts_java = pytest.mark.slow  # Ivy, each time
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


@starts_java
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


@starts_java
def test_a_house_may_have_its_own_repository(unreachable: Path) -> None:
    (unreachable / "nothing-1.jar").write_bytes(b"PK\x05\x06" + bytes(18))
    (unreachable / "nothing-1.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.nowhere</groupId><artifactId>nothing</artifactId>"
        "<version>1</version></project>"
    )
    assert [jar.name for jar in jars.fetched(NOWHERE)] == ["nothing-1.jar"]
    (unreachable / "nothing-1.jar").unlink()
    assert [jar.name for jar in jars.fetched(NOWHERE)] == ["nothing-1.jar"], "the second time it asks nobody"


def published(repository: Path, group: str, name: str, version: str, needs: str = "") -> None:
    """A jar with nothing in it, as a repository has it."""
    (repository / f"{name}-{version}.jar").write_bytes(b"PK\x05\x06" + bytes(18))
    (repository / f"{name}-{version}.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId><artifactId>{name}</artifactId>"
        f"<version>{version}</version><dependencies>{needs}</dependencies></project>"
    )


def dependency(group: str, name: str, version: str) -> str:
    return f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"


def publish_own(repository: Path) -> str:
    """The connector of the installed Spark, which needs a client, and a logger that Spark has in another version."""
    scala, spark = jars.installed()
    needs = dependency("org.apache.kafka", "kafka-clients", "9.1.0") + dependency("org.slf4j", "slf4j-api", "1.0.0")
    published(repository, "org.apache.kafka", "kafka-clients", "9.1.0")
    published(repository, "org.slf4j", "slf4j-api", "1.0.0")
    published(repository, "org.apache.spark", f"spark-sql-kafka-0-10_{scala}", spark, needs)
    return f"spark-sql-kafka-0-10_{scala}-{spark}.jar"


def publish_fallback(repository: Path) -> set[str]:
    for group, name, version in (c.split(":") for c in FALLBACK.coordinates):
        published(repository, group, name, version)
    return {f"{name}-{version}.jar" for _, name, version in (c.split(":") for c in FALLBACK.coordinates)}


def test_the_installed_spark_is_known_by_its_jars() -> None:
    from pyspark import __version__

    assert jars.installed() == ("2.13", __version__)


@starts_java
def test_the_connector_of_the_very_spark_comes_first_without_what_spark_has(
    unreachable: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = publish_own(unreachable)
    publish_fallback(unreachable)
    assert {jar.name for jar in jars.connector()} == {own, "kafka-clients-9.1.0.jar"}
    assert capsys.readouterr().err == ""


@starts_java
def test_where_it_is_not_to_be_had_another_is_taken_with_a_word_and_nobody_asks_again_today(
    unreachable: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_said", set())
    others = publish_fallback(unreachable)
    assert {jar.name for jar in jars.connector()} == others
    _, spark = jars.installed()
    assert capsys.readouterr().err == (
        f"headway: Spark's connector to Kafka is not to be had for Spark {spark}: "
        f"{FALLBACK.coordinates[0]} is used instead\n"
    )
    own = publish_own(unreachable)
    assert {jar.name for jar in jars.connector()} == others, "no repository is asked twice a day"
    (note,) = jars.cache().glob("*.missing")
    yesterday = time.time() - jars.ASK_AGAIN_S - 1
    os.utime(note, (yesterday, yesterday))
    assert own in {jar.name for jar in jars.connector()}


@starts_java
def test_with_neither_one_line_tells_and_it_is_asked_again(unreachable: Path) -> None:
    with pytest.raises(HeadwayError, match=r"spark-sql-kafka.*neither in"):
        jars.connector()
    own = publish_own(unreachable)
    assert own in {jar.name for jar in jars.connector()}
