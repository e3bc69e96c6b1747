"""Why a window was late, as a story."""

from pathlib import Path

import pytest

from dashboard.worlds import BEGAN, write
from headway.cli.app import main
from headway.dashboard.late_window import WindowCase, case_of, worst_windows
from headway.dashboard.reading import JournalFile
from headway.dashboard.rivals import RIVALS, rivals
from headway.dashboard.story import question, story, summary
from headway.dashboard.words import hour
from headway.errors import HeadwayError, SettingError
from headway.sim.microbatch import VirtualWorld


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[VirtualWorld, Path]:
    """Four queries whose windows end at once, and a slot for one batch: they wait for each other."""
    path = tmp_path_factory.mktemp("journal") / "run.db"
    return write(path, ["alerts", "books", "clicks", "drums"], 40, fixed_ms=400), path


def latest(path: Path, *, but: str = "alerts") -> tuple[JournalFile, WindowCase]:
    """The case of the window that was latest of all."""
    file = JournalFile(path)
    worst = {name: worst_windows(file, name)[0] for name in file.queries() if name != but}
    name = max(worst, key=lambda query: worst[query].latency_ms)
    return file, case_of(file, name, worst[name].end)


def test_the_parts_of_a_latency_add_up(crowded: tuple[VirtualWorld, Path]) -> None:
    simulated, path = crowded
    file, case = latest(path)
    assert file.path.is_file() and sum(case.parts_ms) == case.late_ms > 400
    (emitted,) = [w for w in simulated.windows if (w.query, w.end) == (case.query, case.window.end)]
    assert emitted.latency_ms == case.late_ms and emitted.at == case.batch.at


def test_a_story_says_who_went_first_and_what_each_part_was(crowded: tuple[VirtualWorld, Path]) -> None:
    file, case = latest(path := crowded[1])
    told = list(story(file, case))
    said = "\n".join(f"{word} {text}" for word, text in told)
    assert told[0] == ("asked", question(case)) and question(case).startswith(
        f"why was the {hour(case.window.end)} window of"
    )
    assert "at the gate" in summary(case)
    assert "went first: least slack" in said and "while it waited for" in said
    assert "was let through: least slack" in said and f"emitted it, after {case.batch.took_ms} ms" in said
    assert str(BEGAN)[:6] not in said, "no moment is a raw number"
    assert path.is_file()


def test_rivals_are_asked_the_same_questions(crowded: tuple[VirtualWorld, Path]) -> None:
    file, case = latest(crowded[1])
    answers = {answer.policy: answer for answer in rivals(file, case)}
    assert answers.keys() == {type(policy).__name__ for policy in RIVALS}
    assert answers["Klink"].at == case.batch.began, "the policy that ran is one of them"
    moments = [answer.at for answer in answers.values() if answer.at is not None]
    assert min(moments) < case.batch.began, "one of them would have let it through sooner"


def test_a_window_in_time_has_a_story_too(tmp_path: Path) -> None:
    write(tmp_path / "run.db", ["alone"], 20, fixed_ms=1)
    file = JournalFile(tmp_path / "run.db")
    case = case_of(file, "alone", worst_windows(file, "alone")[0].end)
    assert question(case).endswith("?") and list(story(file, case))


def test_what_learnt_patience_said_is_part_of_it(crowded: tuple[VirtualWorld, Path]) -> None:
    file = JournalFile(crowded[1])
    case = case_of(file, "alerts", worst_windows(file, "alerts")[0].end)
    told = list(story(file, case))
    assert any(word == "decided" and "patience of alerts" in said for word, said in told)
    assert any("MaxDelay would wait 120 ms, because the longest delay so far is 120 ms" in said for _, said in told)


def test_a_moment_that_ends_no_window_is_refused_with_those_that_do(crowded: tuple[VirtualWorld, Path]) -> None:
    file = JournalFile(crowded[1])
    with pytest.raises(SettingError, match="the end of one of its windows, such as"):
        case_of(file, "books", BEGAN + 10_000)
    with pytest.raises(HeadwayError, match="no batch of books that emitted it"):
        case_of(file, "books", BEGAN + 86_400_000)


def test_explain_tells_the_story_of_a_window(crowded: tuple[VirtualWorld, Path], capsys: pytest.CaptureFixture[str]) -> None:
    _, case = latest(path := crowded[1])
    assert main(["explain", case.query, "--window", hour(case.window.end), "--journal", str(path)]) == 0
    shown = capsys.readouterr().out
    assert question(case) in shown and "RoundRobin would" in shown
    assert main(["explain", case.query, "--window", "worst", "--journal", str(path)]) == 0
    assert question(case) in capsys.readouterr().out


def test_explain_without_a_query_lists_them_by_their_worst_windows(
    crowded: tuple[VirtualWorld, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, case = latest(path := crowded[1], but="")
    assert main(["explain", "--journal", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if line.strip().startswith(("alerts", "books", "clicks", "drums"))]
    assert sorted(listed) == ["alerts", "books", "clicks", "drums"] and listed[0] == case.query


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        (["explain", "--window", "12:00:03"], "are about one query"),
        (["explain", "books", "--window", "soon"], "window = 'soon': expected HH:MM:SS"),
        (["explain", "bokos", "--window", "worst"], "one of alerts, books, clicks, drums"),
    ],
)
def test_what_was_typed_wrong_is_told_in_a_line(
    crowded: tuple[VirtualWorld, Path], capsys: pytest.CaptureFixture[str], typed: list[str], says: str
) -> None:
    assert main([*typed, "--journal", str(crowded[1])]) == 2
    assert says in capsys.readouterr().err
