"""The jar: it is built from the sources beside it, and its checkpoints are as good as Hadoop's."""

import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F

from headway.spark import jvm
from headway.spark.profile import Profile

_MANAGERS = "org.apache.spark.sql.execution.streaming." + ("" if jvm.JAR == jvm.JAR_4_0 else "checkpointing.")
HADOOP = f"{_MANAGERS}FileSystemBasedCheckpointFileManager"
MANAGER = "spark.sql.streaming.checkpointFileManagerClass"


@pytest.mark.parametrize("jar", [jvm.NEWEST_JAR, jvm.JAR_4_0], ids=lambda jar: jar.name)
def test_the_jar_is_built_from_the_sources_beside_it(jar: Path) -> None:
    with zipfile.ZipFile(jar) as archive:
        manifest = archive.read("META-INF/MANIFEST.MF").decode()
        classes = {Path(name).stem.split("$")[0] for name in archive.namelist() if name.endswith(".class")}
    assert f"Sources-SHA-256: {jvm.digest()[:32]}" in manifest, "the Java sources have changed: run `make jar`"
    assert classes == {source.stem for source in jvm.SOURCES}


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.3.0"])
def test_the_version_of_spark_is_known_also_where_pyspark_is_in_a_zip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """As `spark-submit` has it. The jar for another Spark would be none."""
    place = tmp_path / "pyspark.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("pyspark/__init__.py", "raise ImportError('not to be loaded')")
        archive.writestr("pyspark/version.py", f"# licence\n__version__: str = '{version}'\n")
    monkeypatch.syspath_prepend(place)
    monkeypatch.delitem(sys.modules, "pyspark")
    assert jvm.installed_spark() == version
    assert jvm.fitting(version) == (jvm.JAR_4_0 if version == "4.0.5" else jvm.NEWEST_JAR)


@pytest.mark.core("checkpoints without processes, and lean plans")
@pytest.mark.spark
def test_a_session_of_ours_has_the_jar(spark: Any) -> None:
    assert jvm.present(spark)


class Folder:
    """A folder as the checkpoint manager sees it."""

    def __init__(self, spark: Any, path: Path, manager: str = jvm.CHECKPOINTS) -> None:
        self.hadoop = spark._jvm.org.apache.hadoop.fs
        self.path = path
        kind = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(manager)
        conf = spark._jsparkSession.sessionState().newHadoopConf()
        arguments = spark.sparkContext._gateway.new_array(spark._jvm.java.lang.Object, 2)
        arguments[0], arguments[1] = self.of("."), conf
        self.manager = kind.getConstructors()[0].newInstance(arguments)

    def of(self, name: str) -> Any:
        return self.hadoop.Path(str(self.path / name))

    def write(self, name: str, text: str, overwrite: bool = False) -> None:
        stream = self.manager.createAtomic(self.of(name), overwrite)
        stream.write(text.encode())
        stream.close()

    def read(self, name: str) -> str:
        stream = self.manager.open(self.of(name))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()


@pytest.mark.core("checkpoints without processes, and lean plans")
@pytest.mark.spark
def test_a_file_appears_whole_or_not_at_all_and_is_not_replaced_unasked(spark: Any, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path / "a")
    assert folder.manager.createCheckpointDirectory().toString() == f"file:{tmp_path}/a"
    stream = folder.manager.createAtomic(folder.of("0"), False)
    stream.write(b"half")
    stream.flush()
    assert not folder.manager.exists(folder.of("0"))
    stream.cancel()
    assert list((tmp_path / "a").iterdir()) == []

    folder.write("0", "whole")
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        folder.write("0", "second")
    assert folder.read("0") == "whole"
    folder.write("0", "third", overwrite=True)
    assert folder.read("0") == "third"
    folder.manager.mkdirs(folder.of("deep/er"))
    assert sorted(s.getPath().getName() for s in folder.manager.list(folder.of("."))) == ["0", "deep"]
    folder.manager.delete(folder.of("0"))
    folder.manager.delete(folder.of("0"))  # the second time there is nothing to delete
    assert not folder.manager.exists(folder.of("0"))


@pytest.mark.spark
def test_a_file_of_hadoops_may_be_replaced_by_ours_and_read_by_hadoop_again(spark: Any, tmp_path: Path) -> None:
    """Hadoop keeps a checksum beside each file; that of the old content would make the new one unreadable."""
    theirs, ours = Folder(spark, tmp_path, HADOOP), Folder(spark, tmp_path)
    theirs.write("0", "theirs")
    assert ours.read("0") == "theirs"
    ours.write("0", "ours", overwrite=True)
    assert theirs.read("0") == "ours"


def small(spark: Any) -> Any:
    """A session of its own for small batches."""
    session = spark.newSession()
    for key, value in Profile().settings.items():
        session.conf.set(key, value)
    return session


@pytest.mark.core("checkpoints without processes, and lean plans")
@pytest.mark.spark
def test_a_query_goes_on_whoever_wrote_its_checkpoint(spark: Any, tmp_path: Path) -> None:
    session = small(spark)
    (tmp_path / "in").mkdir()
    counts = {}
    for turn, manager in enumerate((HADOOP, jvm.CHECKPOINTS, HADOOP)):
        (tmp_path / "in" / f"{turn}.txt").write_text("a\nb\n")
        session.conf.set(MANAGER, manager)
        query = (
            session.readStream.text(str(tmp_path / "in"))
            .groupBy("value")
            .agg(F.count("*").alias("n"))
            .writeStream.outputMode("complete")
            .foreachBatch(lambda batch, _: counts.update({row.value: row.n for row in batch.collect()}))
            .option("checkpointLocation", str(tmp_path / "cp"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        assert counts == {"a": turn + 1, "b": turn + 1}


@pytest.mark.core("checkpoints without processes, and lean plans")
@pytest.mark.spark
@pytest.mark.parametrize("lean", [True, False])
def test_a_lean_plan_leaves_its_logical_plan_behind(spark: Any, tmp_path: Path, lean: bool) -> None:
    session = small(spark)
    session.conf.set("spark.headway.lean", str(lean).lower())
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("1\n2\n2\n")
    rows = session.readStream.schema("n int").csv(str(tmp_path / "in"))
    name = f"lean_{lean}"
    query = rows.groupBy("n").count().writeStream.outputMode("complete").format("memory").queryName(name).start()
    try:
        query.processAllAvailable()
        plan = query._jsq.streamingQuery().lastExecution().executedPlan()
    finally:
        query.stop()
    assert {tuple(row) for row in session.table(name).collect()} == {(1, 1), (2, 2)}
    assert [plan.logicalLink().isDefined(), plan.children().head().logicalLink().isDefined()] == [not lean] * 2
    batch = session.range(5).groupBy("id").count()
    assert batch._jdf.queryExecution().sparkPlan().logicalLink().isDefined()
