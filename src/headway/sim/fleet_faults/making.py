"""Schedules at random. The same seed gives the same schedule."""

from random import Random

from headway.sim.fleet_faults.schedule import FleetAction, FleetSchedule

FIRST_MS = 4_000  # until then the fleet comes up
LENGTHS_MS = (15_000, 20_000, 30_000)
SPANS_MS = (300, 1_000, 2_500, 5_000, 9_000)  # shorter than a session, and longer


def fleet_schedule(seed: int, number: int) -> FleetSchedule:
    """Schedule `number` of a seed."""
    dice = Random(f"{seed}/{number}")
    nodes, queries = dice.choice((2, 3, 3, 4)), dice.choice((1, 2, 2, 3))
    plain = FleetSchedule(nodes=nodes, queries=queries)
    length = dice.choice(LENGTHS_MS)
    requests = [_request(dice, plain, length, n) for n in range(dice.choice((1, 2, 3, 4)))]
    if dice.random() < 0.25:
        requests.append(_stop(dice, plain, length))
    faults: list[FleetAction] = []
    for _ in range(dice.choice((0, 1, 1, 2, 2, 3, 4))):
        # Half of them soon after a request: a fault in the middle of a move is what matters.
        near = dice.choice(requests)["at"] + dice.randrange(0, 3_000) if dice.random() < 0.6 else dice.randrange(500, length)
        faults.append(_fault(dice, plain, near))
    actions = sorted((*requests, *faults), key=lambda action: int(action["at"]))
    return FleetSchedule(
        f"{seed}/{number}", nodes, queries,
        silent=dice.choice((0, 0, 0, 1)),
        actions=tuple(actions),
        unfit=_pairs(dice, plain, 0.15),
        broken=_pairs(dice, plain, 0.15),
        whole=tuple(query for query in plain.query_names if dice.random() < 0.2),
        length_ms=length,
    )  # fmt: skip


def _request(dice: Random, plain: FleetSchedule, length: int, number: int) -> FleetAction:
    at, query = dice.randrange(FIRST_MS, length - 1_000), dice.choice(plain.query_names)
    common = {"at": at, "query": query, "node": dice.choice(plain.node_names), "id": f"m{number}"}
    common |= {"timeout": dice.choice((1_000, 3_000, 8_000)), "force": dice.random() < 0.25, "times": dice.choice((1, 1, 2))}
    if dice.random() < 0.7:
        if dice.random() < 0.3:  # between two batches only, so never by force
            common |= {"partitions": dice.choice((1, 2, 4)), "force": False}
        return {"do": "move", **common}
    ending = dice.choice(({}, {}, {"fails": 1}, {"fails": 2}, {"fails": 3}, {"hangs": True}))
    return {"do": "upgrade", **common, **ending}


def _stop(dice: Random, plain: FleetSchedule, length: int) -> FleetAction:
    """One at most: what becomes of a query in the end is what was asked for last."""
    at, query = dice.randrange(FIRST_MS, length - 1_000), dice.choice(plain.query_names)
    forget = dice.random() < 0.3
    again = None if forget else dice.choice((None, 500, 3_000, 8_000))
    return {"do": "stop", "at": at, "query": query, "id": "stop", "forget": forget, "again": again}


def _fault(dice: Random, plain: FleetSchedule, at: int) -> FleetAction:
    node = dice.choice(plain.node_names)
    process = dice.choice((*plain.node_names, "o0", "o1"))
    span = dice.choice(SPANS_MS)
    return dice.choice((
        {"do": "kill", "at": at, "who": node, "down": span},
        {"do": "kill", "at": at, "who": process, "down": span},
        {"do": "freeze", "at": at, "who": node, "ms": span, "clock": dice.random() < 0.3},
        {"do": "freeze", "at": at, "who": process, "ms": span, "clock": False},
        {"do": "cut", "at": at, "who": node, "whom": "*", "ms": span},
        {"do": "cut", "at": at, "who": process, "whom": dice.choice(("store", "o0", "o1", node)), "ms": span},
        {"do": "store", "at": at, "ms": span},
        {"do": "fail", "at": at, "query": dice.choice(plain.query_names)},
        {"do": "crowd", "at": at, "ms": span},
    ))  # fmt: skip


def _pairs(dice: Random, plain: FleetSchedule, share: float) -> tuple[tuple[str, str], ...]:
    """Never the first node: somewhere every query can run."""
    return tuple(
        (query, node) for query in plain.query_names for node in plain.node_names[1:] if dice.random() < share
    )  # fmt: skip
