"""Queries that are answered from samples: what was promised, what is taken for it, and how long it is waited for."""

import ast
from collections.abc import Iterable
from math import sqrt
from statistics import NormalDist
from typing import Any

from headway.dashboard.book import QueryBook, told_of
from headway.dashboard.reading import JournalFile
from headway.dashboard.words import readable
from headway.model.sampling import Sampling, StreamView
from headway.policy import sampling

MOST_POINTS, MOST_BOUNDS = 200, 100


def approximate_page(file: JournalFile, books: Iterable[QueryBook]) -> list[dict[str, Any]]:
    """One entry for each sampled input."""
    made = []
    for book in books:
        for scope, kept in sorted(book.sampled.items()):
            at, answer, policy = kept[-1]
            promise = policy_named(policy)
            made.append(
                {
                    "query": book.name,
                    "input": scope.partition("/")[2],
                    "at": at,
                    "policy": policy,
                    "error": getattr(promise, "error", None),
                    "confidence": getattr(promise, "confidence", None),
                    "of": getattr(promise, "of", None),
                    "share": answer.share,
                    "needed": answer.needed,
                    "wait_ms": answer.wait_ms,
                    "groups": len(answer.keys),
                    "because": readable(answer.because),
                    "series": [(moment, said.share, said.wait_ms) for moment, said, _ in list(kept)[-MOST_POINTS:]],
                    "bounds": bounds_of(file, book.name, scope, promise),
                    "windows": [(w.out, w.end, w.out - w.end) for w in list(book.windows)[-MOST_POINTS:]],
                }
            )
    return made


def bounds_of(file: JournalFile, query: str, scope: str, promise: Any) -> list[tuple[int, float]]:
    """(when, bound): the error that the samples taken then had, with the promised confidence, by the spread of the values
    as it was seen. Of means and sums alone: other answers have their bounds in the results."""
    if getattr(promise, "of", None) not in ("mean", "sum") or not getattr(promise, "confidence", None):
        return []
    rows = file.all(
        "select at, seen, decided from entries where query = ? and scope = ? and question = 'sampling'"
        " order by at desc, id desc limit ?",
        (query, scope, MOST_BOUNDS),
    )
    z = NormalDist().inv_cdf(0.5 + promise.confidence / 2)
    found = [(at, _bound(told_of(seen or "null"), told_of(said), z)) for at, seen, said in reversed(rows)]
    return [(at, bound) for at, bound in found if bound is not None]


def _bound(seen: Any, said: Any, z: float) -> float | None:
    if not isinstance(seen, StreamView) or not isinstance(said, Sampling) or not seen.value_mean or seen.window_rows < 2:
        return None
    taken = max(1.0, said.share * seen.window_rows)
    of_all = sqrt(max(0.0, 1 - said.share))  # a sample of everything has no error
    return z * seen.value_sd / abs(seen.value_mean) / sqrt(taken) * of_all


def policy_named(text: str) -> Any:
    """The sampling policy that a journal names, `Aion(error=0.01)`, or None: it may be a user's own."""
    try:
        call = ast.parse(text if text.endswith(")") else f"{text}()", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        kind = getattr(sampling, call.func.id, None)
        settings = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg is not None}
        return None if kind is None else kind(**settings)
    except (SyntaxError, ValueError, TypeError):
        return None
