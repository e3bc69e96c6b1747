"""`headway replay`: where another policy would have chosen otherwise, given what was seen."""

from pathlib import Path
from typing import Annotated

import typer

from headway.cli import screen
from headway.cli.explain import clock
from headway.errors import SettingError
from headway.loop.journal import JournalReader
from headway.loop.replay import replay as differences
from headway.model.decision import Decision, Grant
from headway.policy.load import order_policy


def replay(
    journal: Annotated[Path, typer.Argument(help="A journal file.")],
    policy: Annotated[str, typer.Option(help="The policy to ask, e.g. round-robin or klink:interval=paper.")] = "klink",
    show: Annotated[int, typer.Option(help="How many of the first differences to show.")] = 10,
) -> None:
    """Ask another policy the questions of a past run; nothing is acted upon."""
    other = order_policy(policy)
    if not other.gated:
        raise SettingError("policy", policy, "a policy with a gate: without one there is nothing to decide")
    reader = JournalReader(journal)
    total = sum(1 for _ in reader.entries())
    # The same choice for another reason is no difference here.
    found = [(entry, wish) for entry, wish in differences(reader.entries(), other) if choice(wish) != choice(entry.proposed)]
    share = f" ({len(found) / total:.0%})" if total else ""
    screen.out.print(f"{policy} would have chosen otherwise in {len(found)} of {total} decisions{share}", highlight=False)
    for entry, wish in found[:show]:
        screen.out.print(
            f"  {clock(entry.at)}  was: {_words(entry.proposed)}\n  {'':12}  now: {_words(wish)}",
            soft_wrap=True, highlight=False, markup=False,
        )  # fmt: skip
    if len(found) > show:
        screen.out.print(f"  and {len(found) - show} more", highlight=False)


def choice(decision: Decision) -> str | None:
    """Who was let through; None if nobody."""
    return decision.query if isinstance(decision, Grant) else None


def _words(decision: Decision) -> str:
    return f"{'run ' + decision.query if isinstance(decision, Grant) else 'hold'} ({decision.because})"
