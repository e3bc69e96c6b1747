"""Which of a node's computations asks to move, and where does a query run? Two questions: a node's, and its orchestrator's.

Both are due when a round is over, every second or so. What is carried out comes back in the next views: which nodes cool
down or move something, and which computations rest.
"""

from collections.abc import Callable

from headway.loop.kernel import Question
from headway.model.placement import (
    Choice,
    FleetView,
    HostView,
    Move,
    NodeView,
    PlacementDecision,
    PlacementMemory,
    PlacementPolicy,
    Placements,
    Refuse,
    RequestDecision,
    RequestMemory,
    RequestMove,
    RequestPolicy,
    Stay,
)
from headway.model.time import WallMs

REQUEST, PLACEMENT = "request", "placement"


def request(
    node: str,
    policy: RequestPolicy,
    see: Callable[[WallMs], HostView | None],
    act: Callable[[RequestDecision, WallMs], str],
) -> Question[HostView, RequestMemory, RequestDecision]:
    """The question of one node; the request travels with its next status."""
    guards = (never_ask_while_cooling, never_ask_for_the_resting)
    return Question(REQUEST, node, policy, policy.request, see, act, RequestMemory(), guards, asks_anew)


def placement(
    fleet: str,
    policy: PlacementPolicy,
    see: Callable[[WallMs], FleetView | None],
    act: Callable[[PlacementDecision, WallMs], str],
) -> Question[FleetView, PlacementMemory, PlacementDecision]:
    """The question of a whole fleet, about everything that was asked since the last round."""
    guards = (never_to_itself, never_while_cooling, one_move_a_node, only_where_ready)
    return Question(PLACEMENT, fleet, policy, policy.decide, see, act, PlacementMemory(), guards, changes_something)


def never_ask_while_cooling(decided: RequestDecision, seen: HostView) -> RequestDecision:
    """A node that takes part in a move, or has just done so, asks for none."""
    if isinstance(decided, RequestMove) and _rests(seen.node, seen.now):
        return Stay(f"{decided.because}; but {seen.node.name} takes part in a move, or has just done so")
    return decided


def never_ask_for_the_resting(decided: RequestDecision, seen: HostView) -> RequestDecision:
    """What was refused is not asked for again until its rest is over."""
    if not isinstance(decided, RequestMove):
        return decided
    query = decided.request.query
    if query not in seen.computations.names:
        return Stay(f"{decided.because}; but {query} does not run on {seen.node.name}")
    if (until := seen.resting.get(query, seen.now)) > seen.now:
        return Stay(f"{decided.because}; but {query} rests for {until - seen.now} ms more")
    return decided


def never_to_itself(decided: PlacementDecision, seen: FleetView) -> PlacementDecision:
    """A query leaves the node that it is on, for another one."""
    homes = {asked.query: asked.node for asked in seen.requests}
    if seen.computations is not None:
        homes |= dict(zip(seen.computations.names, seen.computations.homes, strict=True))

    def fault(move: Move) -> str | None:
        if (home := homes.get(move.query)) is None:
            return f"{move.query} does not ask to move"
        if home != move.source:
            return f"it runs on {home}, not on {move.source}"
        return f"it is on {home} already" if move.target == home else None

    return _without(decided, lambda choice: fault(choice) if isinstance(choice, Move) else None)


def never_while_cooling(decided: PlacementDecision, seen: FleetView) -> PlacementDecision:
    """Nothing moves to or from a node that takes part in a move, or has just done so."""
    resting = {node.name for node in seen.nodes if _rests(node, seen.now)}

    def fault(choice: Choice) -> str | None:
        if not isinstance(choice, Move) or not (found := [n for n in (choice.source, choice.target) if n in resting]):
            return None
        return f"{found[0]} takes part in a move, or has just done so"

    return _without(decided, fault)


def one_move_a_node(decided: PlacementDecision, seen: FleetView) -> PlacementDecision:
    """Of several moves that touch one node, the first is made."""
    taken: set[str] = set()

    def fault(choice: Choice) -> str | None:
        if not isinstance(choice, Move):
            return None
        for node in (choice.source, choice.target):
            if node in taken:
                return f"{node} takes part in another move of this round"
        taken.update((choice.source, choice.target))
        return None

    return _without(decided, fault)


def only_where_ready(decided: PlacementDecision, seen: FleetView) -> PlacementDecision:
    """Queries go to nodes that are there and take them."""
    ready = {node.name for node in seen.nodes if node.ready}

    def fault(choice: Choice) -> str | None:
        return None if isinstance(choice, Refuse) or choice.target in ready else f"{choice.target} takes no queries"

    return _without(decided, fault)


def asks_anew(decided: RequestDecision, before: RequestDecision | None) -> bool:
    """Another computation asks than before, or one does, or none does any more."""
    return _asked(decided) != _asked(before) if before is not None else isinstance(decided, RequestMove)


def changes_something(decided: PlacementDecision, before: PlacementDecision | None) -> bool:
    """Something starts or moves; or other queries are refused than in the round before."""
    if any(not isinstance(choice, Refuse) for choice in _choices(decided)):
        return True
    return {choice.query for choice in _choices(decided)} != {choice.query for choice in _choices(before)}


def _rests(node: NodeView, now: WallMs) -> bool:
    return node.moving or node.cooling_until > now


def _asked(decided: RequestDecision | None) -> str | None:
    return decided.request.query if isinstance(decided, RequestMove) else None


def _choices(decided: PlacementDecision | None) -> tuple[Choice, ...]:
    return decided.choices if isinstance(decided, Placements) else ()


def _without(decided: PlacementDecision, fault: Callable[[Choice], str | None]) -> PlacementDecision:
    """What has a fault is refused, with the fault behind the reason of the policy. It may ask again at once."""
    if not isinstance(decided, Placements):
        return decided
    faults = [fault(choice) for choice in decided.choices]
    if not any(faults):
        return decided
    choices = tuple(
        Refuse(choice.query, f"{choice.because}; but {wrong}") if wrong else choice
        for choice, wrong in zip(decided.choices, faults, strict=True)
    )
    return Placements(choices, f"{decided.because}; a guard refused {sum(map(bool, faults))}")
