"""Queries that are answered from samples: what was promised, what is taken for it, and how long it is waited for."""

import ast
from collections.abc import Iterable
from typing import Any

from headway.dashboard.book import QueryBook
from headway.dashboard.words import readable
from headway.policy import sampling

MOST_POINTS = 200


def approximate_page(books: Iterable[QueryBook]) -> list[dict[str, Any]]:
    """One entry for each sampled input."""
    made = []
    for book in books:
        for scope, kept in sorted(book.sampled.items()):
            at, answer, policy = kept[-1]
            promise = policy_named(policy)
            late = [w.latency_ms for w in book.windows]
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
                    "latencies": late[-60:],
                }
            )
    return made


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
