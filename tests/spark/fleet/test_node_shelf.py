"""What a node gives away of its checkpoints: the least that a query goes on from, and nothing that is no checkpoint."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.errors import HeadwayError
from headway.fleet.incarnation import MARK, IncarnationMark
from headway.fleet.node.checkpoints import PROMISED, CheckpointPromise
from headway.spark.fleet.shelf import NodeShelf
from headway.transfer.wire import TransferRefused

# All that a shelf asks of a session whose checkpoints are on a disk.
SESSION = SimpleNamespace(_jsc=SimpleNamespace(hadoopConfiguration=lambda: {"fs.defaultFS": "file:///"}))


def checkpoint(folder: Path, complete: bool = True) -> Path:
    """Of a query with state, in its eighth batch."""
    mark = IncarnationMark("counts", 3, "n1", "run 7")
    texts = {"metadata": '{"id": "x"}', MARK: (mark.completed(None) if complete else mark).text}
    texts |= {f"offsets/{n}": "v1" for n in range(9)} | {f"commits/{n}": "v1" for n in range(8)}
    texts |= {f"state/0/0/{n}.delta": f"change {n}" for n in range(1, 9)} | {"state/0/0/7.snapshot": "all up to 7"}
    texts |= {"state/0/0/4.snapshot": "all up to 4", "state/0/_metadata/metadata": "v1"}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def shelf() -> NodeShelf:
    return NodeShelf(SESSION, lambda folder: folder.endswith("epoch-3"))


def test_the_least_is_given_and_the_mark(shelf: NodeShelf, tmp_path: Path) -> None:
    place = str(checkpoint(tmp_path / "epoch-3"))
    assert set(shelf.listing(place, ())) == {
        "metadata", MARK, "offsets/7", "offsets/8", "commits/7", "state/0/_metadata/metadata", "state/0/0/7.snapshot",
        "state/0/0/8.delta",
    }  # fmt: skip


def test_who_has_an_older_snapshot_is_given_the_changes_after_it(shelf: NodeShelf, tmp_path: Path) -> None:
    state = {name for name in shelf.listing(str(checkpoint(tmp_path / "c")), ("state/0/0/4.snapshot",)) if "/0/0/" in name}
    assert state == {"state/0/0/4.snapshot", *(f"state/0/0/{n}.delta" for n in range(5, 9))}


def test_what_a_node_knows_of_a_folder(shelf: NodeShelf, tmp_path: Path) -> None:
    place = str(checkpoint(tmp_path / "epoch-3"))
    told = shelf.told(place)
    assert (told.there, told.complete, told.hosted, told.holder, told.promised) == (True, True, True, None, None)
    assert told.mark == (tmp_path / "epoch-3" / MARK).read_text()
    begun = shelf.told(str(checkpoint(tmp_path / "epoch-4", complete=False)))
    assert (begun.there, begun.complete, begun.hosted) == (True, False, False)
    assert not shelf.told(str(tmp_path / "epoch-5")).there


def test_nothing_is_given_that_is_no_checkpoint_or_lies_outside_of_it(shelf: NodeShelf, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    place = checkpoint(tmp_path / "epoch-3")
    (place / "sources").symlink_to(tmp_path)
    for folder, name in ((tmp_path, "token"), (place, "../token"), (place, "sources/token")):
        with pytest.raises(TransferRefused) as error:
            shelf.open(str(folder), name)
        assert error.value.status == 404
    with pytest.raises(TransferRefused, match="expected a checkpoint that is here"):
        shelf.listing(str(tmp_path), ())
    with pytest.raises(TransferRefused, match="expected a folder on a disk"):
        shelf.listing("hdfs://nn/epoch-3", ())
    assert shelf.open(str(place), "metadata").read() == b'{"id": "x"}'


def test_a_checkpoint_is_promised_to_one(shelf: NodeShelf, tmp_path: Path) -> None:
    place = str(checkpoint(tmp_path / "epoch-3"))
    shelf.promise(CheckpointPromise(place, "epoch-4"))
    assert (tmp_path / "epoch-3" / PROMISED).read_text() == "epoch-4" == shelf.told(place).promised
    shelf.promise(CheckpointPromise(place, "epoch-4"))
    with pytest.raises(HeadwayError, match="expected one that no other copy goes on from; 'epoch-4' goes on from it"):
        shelf.promise(CheckpointPromise(place, "epoch-5"))
    shelf.promise(CheckpointPromise(place, "epoch-5", instead="epoch-4"))
    assert shelf.told(place).promised == "epoch-5"
    with pytest.raises(HeadwayError, match="expected one that is here, and complete"):
        shelf.promise(CheckpointPromise(str(tmp_path / "epoch-9"), "epoch-5"))
