"""What is asked of a window, and what the exact answer is."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from headway.errors import SettingError
from headway_lab.workloads.approximate.settings import StreamSetting
from headway_lab.workloads.hashing import Longs
from headway_lab.workloads.ysb import Ysb

KeyedPane = tuple[int, str]  # the end of a window in event-time ms, and a key, or "" where there is none
RATE = "sampling_rate"  # of a row of a sample: with which probability it was taken
BY = ("event_time", "arrival", "ad_id", "user_id")  # what tells rows apart


@dataclass(frozen=True)
class ExactAnswer:
    """The answer from all rows of a window, and how many they are."""

    answer: float
    rows: int


@dataclass(frozen=True)
class WindowQuestion(ABC):
    """A query over windows of a stream of ad events, on all of its rows or on a sample."""

    stream: Ysb
    size_ms: int
    slide_ms: int

    value: ClassVar[str]  # the column of `rows` whose error is bounded
    of: ClassVar[str]  # and what is asked of it
    least: ClassVar[int] = 1  # rows of a sample, whatever the spread of the value
    per: ClassVar[str | None] = None  # the column of groups that keep to the error each for itself
    words: ClassVar[str]
    adds_up: ClassVar[bool] = False  # a window's answer is the sum of its keys' answers

    def __post_init__(self) -> None:
        if not 1 <= self.slide_ms <= self.size_ms:
            raise SettingError("approximate.slide_ms", self.slide_ms, f"1 up to size_ms = {self.size_ms}")

    @classmethod
    @abstractmethod
    def over(cls, setting: StreamSetting, rate: int, window_ms: int, seed: int, epoch_ms: int) -> "WindowQuestion":
        """The question over a stream like that."""

    @abstractmethod
    def rows(self, events: Any) -> Any:
        """What is sampled: events with the columns of `BY`, the `value`, and what `query` needs."""

    @abstractmethod
    def query(self, rows: Any, approx: Any) -> Any:
        """Columns end_ms, key, estimate, lower, upper, sample, seen, sound. `approx` is `headway.approx`.

        Of rows without a rate the answer is exact, and computed without a thought of samples.
        """

    @abstractmethod
    def of_window(self, events: tuple[Longs, Longs, Longs]) -> dict[str, ExactAnswer]:
        """The exact answers, by key, from `stream.happened` of a window."""

    def truth(self, ends_ms: Iterable[int]) -> dict[KeyedPane, ExactAnswer]:
        """The exact answers of the windows that end then: in numpy, without Spark."""
        return {
            (end, key): exact
            for end in ends_ms
            for key, exact in self.of_window(self.stream.happened(end - self.size_ms, end)).items()
        }

    def ends_ms(self, since_ms: int, until_ms: int) -> list[int]:
        """The ends of windows after `since_ms` and up to `until_ms`."""
        first = since_ms // self.slide_ms * self.slide_ms + self.slide_ms
        return list(range(first, until_ms + 1, self.slide_ms))

    @property
    def window(self) -> str:
        """The SQL for a row's window."""
        return f"window(event_time, '{self.size_ms} milliseconds', '{self.slide_ms} milliseconds') as window"


def shown(answers: Any, key: str = "''") -> Any:
    """The columns of a query, from its `window` and its `answer`, a struct of `headway.approx`."""
    return answers.selectExpr("unix_millis(window.end) as end_ms", f"cast({key} as string) as key", "answer.*")


def exact_struct(answer: str, rows: str) -> str:
    """The SQL for such a struct where no row is missing."""
    parts = {"estimate": answer, "lower": answer, "upper": answer}
    told = ", ".join(f"'{name}', cast({sql} as double)" for name, sql in parts.items())
    return f"named_struct({told}, 'sample', {rows}, 'seen', 1.0D, 'sound', true) as answer"
