"""Whatever lies in a folder, and however it changes: what is pulled is what is there, and only what changed is sent."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.transfer.client import pull
from headway.transfer.server import FolderServer
from wan.thin_link import ThinLink

TOKEN = "a-token-of-sixteen-letters"
Tree = dict[str, bytes]

parts = st.sampled_from(["a", "b", "1.delta", "2.zip", ".crc", "two words", "ü&=%41+", "state"])
names = st.lists(parts, min_size=1, max_size=3).map("/".join)
contents = st.one_of(
    st.binary(max_size=40),
    st.builds(lambda word, times: word * times, st.binary(min_size=1, max_size=9), st.integers(1, 20_000)),
)


def without_clashes(tree: Tree) -> Tree:
    """No name is a file and a folder."""
    return {name: text for name, text in tree.items() if not any(other.startswith(f"{name}/") for other in tree)}


trees = st.dictionaries(names, contents, max_size=8).map(without_clashes)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """A tree, and what becomes of it: files stay, go, change or come."""
    before = draw(trees)
    after = {name: draw(st.one_of(st.just(text), contents)) for name, text in before.items() if draw(st.booleans())}
    return before, without_clashes(after | draw(trees))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FolderServer]:
    server = FolderServer(tmp_path_factory.mktemp("site"), "127.0.0.1", 0, TOKEN)
    server.start()
    yield server
    server.stop()


def write(tree: Tree, folder: Path) -> None:
    """Anew, so that nothing of what was there is left."""
    for old in sorted(folder.rglob("*"), reverse=True):
        if old.is_dir():
            old.rmdir()
        else:
            old.unlink()
    for name, text in tree.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)


def tree_of(folder: Path) -> Tree:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@settings(max_examples=60)
@given(change=changes())
def test_a_folder_that_is_pulled_again_is_as_the_source_and_only_changes_are_sent(
    site: FolderServer, change: tuple[Tree, Tree]
) -> None:
    before, after = change
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory(dir=site.root) as there:
        source, into = Path(there), Path(here) / "into"
        write(before, source)
        first = pull(site.address, TOKEN, source.name, into)
        assert tree_of(into) == before
        assert (first.files, first.raw_bytes, first.spared_files) == (len(before), total(before), 0)
        write(after, source)
        second = pull(site.address, TOKEN, source.name, into)
        changed = {name: text for name, text in after.items() if before.get(name) != text}
        assert tree_of(into) == after
        assert (second.files, second.raw_bytes) == (len(changed), total(changed))
        assert (second.spared_files, second.spared_bytes) == (len(after) - len(changed), total(after) - total(changed))
        assert changed or second.sent_bytes == 0


@settings(max_examples=60)
@given(tree=trees, cuts=st.lists(st.integers(0, 3_000), max_size=6))
def test_wherever_the_link_is_cut_the_folder_arrives_and_no_byte_of_it_twice(
    site: FolderServer, tree: Tree, cuts: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory(dir=site.root) as there:
        write(tree, Path(there))
        with ThinLink(site.address, cuts) as link:
            report = pull(link.address, TOKEN, Path(there).name, Path(here), attempts=len(cuts) + 1, pause=0)
        assert tree_of(Path(here)) == tree
        assert (report.files, report.raw_bytes, report.spared_bytes) == (len(tree), total(tree), 0)
        assert report.resumed <= len(cuts)


def total(tree: Tree) -> int:
    return sum(map(len, tree.values()))
