"""`headway replay`: where another policy would have chosen otherwise, given what was seen."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from headway.cli import screen
from headway.cli.screen import clock
from headway.dashboard.words import readable
from headway.errors import SettingError
from headway.loop.journal import JournalReader
from headway.loop.replay import replay as differences
from headway.model.adaptation import Reassign, Replan, ScaleDown, ScaleOut, ScaleUp, technique_of
from headway.model.decision import Grant, Hold
from headway.model.declared import order_declares
from headway.model.patience import Wait
from headway.model.placement import Choice, Move, Placements, Refuse, RequestMove
from headway.model.sampling import Sampling
from headway.policy.load import policy_of, question_of


def replay(
    journal: Annotated[Path, typer.Argument(help="A journal file.")],
    policy: Annotated[str, typer.Option(help="The policy to ask, e.g. round-robin, quantile:share=0.9 or aion.")] = "klink",
    show: Annotated[int, typer.Option(help="How many of the first differences to show.")] = 10,
) -> None:
    """Ask another policy the questions of a past run; nothing is acted upon."""
    question = question_of(policy)
    other = policy_of(question, policy)
    if not order_declares(other).gated:
        raise SettingError("policy", policy, "a policy with a gate: without one there is nothing to decide")
    reader = JournalReader(journal)
    total = sum(1 for _ in reader.entries(question))
    # The same choice for another reason is no difference here.
    asked = differences(reader.entries(question), other)
    found = [(entry, wish) for entry, wish in asked if choice(wish) != choice(entry.proposed)]
    share = f" ({len(found) / total:.0%})" if total else ""
    screen.out.print(
        f"{policy} would have chosen otherwise in {len(found)} of {total} decisions about {question}{share}", highlight=False
    )
    for entry, wish in found[:show]:
        was, now = readable(_words(entry.proposed)), readable(_words(wish))
        screen.out.print(
            f"  {clock(entry.at)}  {entry.scope}\n  {'':12}  was: {was}\n  {'':12}  now: {now}"
            if entry.scope
            else f"  {clock(entry.at)}  was: {was}\n  {'':12}  now: {now}",
            soft_wrap=True, highlight=False, markup=False,
        )  # fmt: skip
    if len(found) > show:
        screen.out.print(f"  and {len(found) - show} more", highlight=False)


def choice(decided: Any) -> Any:
    """What was chosen, whatever the reason: which query is let through, how long is waited, how much is taken."""
    match decided:
        case Grant(query=query):
            return query
        case Hold():
            return None
        case RequestMove(request=request):
            return request.query
        case Placements(choices=choices):
            return {_where(chosen) for chosen in choices}
        case Replan(plan=plan, deployed=deployed):
            return plan.name, deployed
        case Reassign() | ScaleUp() | ScaleOut() | ScaleDown():
            return decided.stage, decided.deployed
        case other:
            return replace(other, because="")


def _where(chosen: Choice) -> tuple[str, str]:
    """Of a query: the node that it goes to; nowhere if it was refused."""
    return chosen.query, "" if isinstance(chosen, Refuse) else chosen.target


def _words(decided: Any) -> str:
    match decided:
        case Grant(query=query):
            said = f"run {query}"
        case Hold():
            said = "hold"
        case Wait(ms=ms):
            said = f"wait {ms} ms"
        case Sampling(share=share, wait_ms=ms):
            said = f"take {share:.1%}, wait {ms} ms"
        case RequestMove(request=request):
            said = f"ask for {request.query} to move"
        case Placements(choices=choices):
            return ", ".join(f"{_moved(chosen)} ({chosen.because})" for chosen in choices)
        case Reassign() | ScaleUp() | ScaleOut() | ScaleDown():
            said = f"{technique_of(decided)} {decided.stage}"
        case Replan(plan=plan):
            said = f"re-plan by {plan.name}"
        case other:
            said = type(other).__name__.lower()
    return f"{said} ({decided.because})"


def _moved(chosen: Choice) -> str:
    match chosen:
        case Move(query=query, source=source, target=target):
            return f"move {query} from {source} to {target}"
        case Refuse(query=query):
            return f"refuse {query}"
    return f"start {chosen.query} on {chosen.target}"
