"""Whoever writes a checkpoint file first has written it: nobody replaces it unasked, not even at the same moment."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from headway.spark import jvm
from spark.test_jvm import HADOOP, Folder

pytestmark = pytest.mark.spark
CHILD = Path(__file__).with_name("checkpoint_child.py")
NAMES = 1_000


def test_of_two_processes_that_write_the_same_files_exactly_one_wins_each(tmp_path: Path) -> None:
    """Two runs of one query, say. 715 rows were lost once: both had asked whether the file was there, then both wrote."""
    command = [sys.executable, str(CHILD), str(tmp_path)]
    children = {
        who: subprocess.Popen([*command, who, str(NAMES)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for who in ("one", "other")
    }
    try:
        for child in children.values():
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
        begin = time.time() + 1  # by then both have all their tasks waiting
        for child in children.values():
            assert child.stdin is not None
            child.stdin.write(f"{begin}\n")
            child.stdin.flush()
        won = {who: set(json.loads(child.communicate()[0])) for who, child in children.items()}
    finally:
        for child in children.values():
            child.kill()
            child.wait()
    assert won["one"] & won["other"] == set()
    assert won["one"] | won["other"] == set(range(NAMES))
    for who, names in won.items():
        assert {(tmp_path / str(name)).read_text() for name in names} <= {who}
    left = {f.name for f in tmp_path.iterdir()} - {"warm-one", "warm-other"}
    assert left == set(map(str, range(NAMES)))  # and no temporary file


@pytest.mark.parametrize("rival", [HADOOP, jvm.CHECKPOINTS], ids=["hadoop", "ours"])
def test_a_writer_whose_file_was_written_by_another_meanwhile_is_refused(spark: Any, tmp_path: Path, rival: str) -> None:
    ours, other = Folder(spark, tmp_path), Folder(spark, tmp_path, rival)
    stale = ours.manager.createAtomic(ours.of("0"), False)
    stale.write(b"stale")
    stale.flush()
    other.write("0", "first")
    with pytest.raises(Py4JJavaError) as error:
        stale.close()
    assert error.value.java_exception.getClass().getName() == "org.apache.hadoop.fs.FileAlreadyExistsException"
    assert ours.read("0") == other.read("0") == "first"
    assert [f.name for f in tmp_path.iterdir() if f.name.endswith(".tmp")] == []


def test_a_link_that_leads_nowhere_is_a_file_too(spark: Any, tmp_path: Path) -> None:
    """`exists` says no of it, and a rename would have replaced it."""
    (tmp_path / "0").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Py4JJavaError, match=r"hadoop\.fs\.FileAlreadyExistsException"):
        Folder(spark, tmp_path).write("0", "second")
    assert (tmp_path / "0").is_symlink()


def test_where_no_hard_link_can_be_made_files_are_renamed_as_hadoop_does(
    spark: Any, tmp_path: Path, java_err: Callable[[], str]
) -> None:
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs two file systems: no link leads from one to the other")
    folder = Folder(spark, tmp_path)
    with TemporaryDirectory(dir=memory) as elsewhere:
        for name in ("0", "1", "0"):
            written = Path(elsewhere, "written")
            written.write_text(f"here is {name}")
            move = partial(folder.manager.renameTempFile, folder.hadoop.Path(str(written)), folder.of(name), False)
            if (tmp_path / name).exists():
                with pytest.raises(Py4JJavaError, match=r"hadoop\.fs\.FileAlreadyExistsException"):
                    move()
            else:
                move()
    assert folder.read("0") == "here is 0" and folder.read("1") == "here is 1"
    assert java_err().count("headway: no hard link can be made") == 1
