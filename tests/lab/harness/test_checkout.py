"""How old a commit is, in a real repository."""

from pathlib import Path

import pytest

from headway_lab.harness.checkout import Checkout, CommitAge, git
from headway_lab.harness.claims import Claim
from headway_lab.harness.verdicts import judge, tally
from lab.harness.ledgers import record


@pytest.fixture
def tree(tmp_path: Path) -> Checkout:
    git(tmp_path, "init", "--quiet")
    return Checkout(tmp_path)


def commit(tree: Checkout, path: str, text: str) -> str:
    assert tree.root is not None
    file = tree.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    git(tree.root, "add", ".")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    git(tree.root, *who, "commit", "--quiet", "--no-gpg-sign", "-m", text)
    return git(tree.root, "rev-parse", "--short", "HEAD")


def test_a_commit_is_stale_once_its_code_has_changed(tree: Checkout) -> None:
    measured = commit(tree, "src/loop/deep/tick.py", "one")
    assert tree.age(measured, ("src/loop/**",)) == CommitAge(0, 0)
    commit(tree, "docs/page.md", "two")
    assert tree.age(measured, ("src/loop/**",)) == CommitAge(1, 0)
    commit(tree, "src/loop/deep/tick.py", "three")
    age = tree.age(measured, ("src/loop/**",))
    assert age == CommitAge(2, 1) and age.stale and str(age) == "2 commits ago, stale: 1 file of its code has changed"
    assert tree.age(measured, ("src/*.py",)) == CommitAge(2, 0)


def test_code_that_was_moved_is_what_it_was(tree: Checkout) -> None:
    """Also if it imports from another place now; not if anything else is different."""
    body = "\n".join(f"def step_{n}(x): return x + {n}" for n in range(40))
    measured = commit(tree, "src/old/tick.py", f"from src.old import clock\n\n{body}\n")
    assert tree.root is not None
    (tree.root / "src/new").mkdir()
    (tree.root / "src/old/tick.py").rename(tree.root / "src/new/tick.py")
    commit(tree, "src/new/tick.py", f"from src.new import clock\n\n{body}\n")
    assert tree.age(measured, ("src/new/**",)) == CommitAge(1, 0)
    commit(tree, "src/new/tick.py", f"from src.new import clock\n\n{body.replace('x + 7', 'x - 7')}\n")
    assert tree.age(measured, ("src/new/**",)) == CommitAge(2, 1)


def test_code_that_is_told_in_other_words_is_what_it_was(tree: Checkout) -> None:
    measured = commit(tree, "a.py", 'def f(x):\n    """Doubles."""\n    return 2 * x  # twice\n')
    commit(
        tree,
        "a.py",
        '"""Sums."""\n\nimport math\n\n\ndef f(x):\n    """Twice as much."""\n    return (\n        2 * x\n    )\n',
    )
    assert tree.age(measured, ("a.py",)) == CommitAge(1, 0)
    commit(tree, "a.py", "def f(x):\n    return 3 * x\n")
    assert tree.age(measured, ("a.py",)) == CommitAge(2, 1)
    commit(tree, "a.py", "def f(x:\n    return 2 * x\n")
    assert tree.age(measured, ("a.py",)) == CommitAge(3, 1)


def test_a_change_that_was_taken_back_is_none(tree: Checkout) -> None:
    measured = commit(tree, "a.py", "one")
    commit(tree, "a.py", "two")
    commit(tree, "a.py", "one")
    assert tree.age(measured, ("a.py",)) == CommitAge(2, 0)


def test_code_that_was_taken_away_has_changed(tree: Checkout) -> None:
    commit(tree, "a/b.py", "kept")
    measured = commit(tree, "a/c.py", "gone")
    assert tree.root is not None
    (tree.root / "a/c.py").unlink()
    commit(tree, "docs/page.md", "two")
    assert tree.age(measured, ("a/**",)) == CommitAge(1, 1)


def test_what_is_not_known_is_said(tree: Checkout) -> None:
    measured = commit(tree, "a.py", "one")
    assert Checkout(None).age("0000000", ("a.py",)).stale is Checkout(None).age(measured, ("a.py",)).stale is None
    assert str(Checkout(None).age(measured, ("a.py",))) == "age unknown"
    assert tree.age(measured, ()) == CommitAge(0, None)
    assert str(CommitAge(0, None)) == "0 commits ago, whether its code changed is unknown"


def test_a_commit_that_the_history_does_not_have_counts_as_stale(tree: Checkout) -> None:
    """It was measured with code that nobody can look at: a branch that was thrown away, or a package from elsewhere."""
    commit(tree, "a.py", "one")
    for lost in ("0000000", "0000000+", "unknown"):
        age = tree.age(lost, ("a.py",))
        assert age.stale is True and str(age) == "commit not in this history: counts as stale"
    claim = Claim("T", "", "-", "", "plain", (0.0, 200.0), unit="ms", paths=("a.py",))
    (finding,) = judge([claim], [record("klink", 100, seed) for seed in (1, 2, 3)], tree)
    assert finding.stale is True and tally([finding]) == "1 reproduced; 1 stale"


def test_a_commit_with_changes_that_were_not_committed_is_never_known_to_be_fresh(tree: Checkout) -> None:
    measured = commit(tree, "a.py", "one")
    assert tree.age(f"{measured}+", ("a.py",)) == CommitAge(0, None)
    commit(tree, "a.py", "two")
    assert tree.age(f"{measured}+", ("a.py",)) == CommitAge(1, 1)


def test_globs_say_what_they_name(tree: Checkout) -> None:
    commit(tree, "src/a/b/c.py", "one")
    assert tree.files("src/a/**") == ["src/a/b/c.py"] and tree.files("src/*.py") == []
    assert Checkout(None).files("src/**") == []


def test_a_finding_tells_the_age_of_its_figure(tree: Checkout) -> None:
    claim = Claim("T", "", "-", "", "plain", (0.0, 200.0), unit="ms", paths=("a.py",))
    measured = commit(tree, "a.py", "one")
    runs = [record("klink", 100, seed, commit=measured) for seed in (1, 2, 3)]
    (fresh,) = judge([claim], runs, tree)
    assert fresh.stale is False and fresh.words()[0].endswith(f"; {measured}, 0 commits ago")
    commit(tree, "a.py", "two")
    (old,) = judge([claim], runs, tree)
    assert old.verdict == "reproduced" and old.stale is True
    assert old.as_json()["live"]["stale"] is True and old.as_json()["live"]["commits_since"] == 1
    assert tally([fresh, old]) == "2 reproduced; 1 stale"
