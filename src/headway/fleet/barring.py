"""How a primary makes sure that an incarnation is over: no process holds its lease, nor can any take it under its epoch
again.

A lease is a lasting node with the highest token that was given out, and below it one that lives by its holder's session
(`fleet/leases.py`). To bar an epoch is one transaction: the primary is still the newest, the token is raised, and the
holder's node is not there. That last part the tree cannot ask, so the node is made and dropped again in the same stroke.
"""

from headway.fleet.election import ElectionPaths, Leading
from headway.fleet.leases import LEASES, LeaseRecord
from headway.fleet.records import dumps, loads, node_name
from headway.fleet.session import CheckNode, Committed, DropNode, MakeNode, Session, SetNode, TreeStep
from headway.fleet.store import Deposed

NOBODY_MORE = "no process: barred"


def bar(session: Session, root: str, leading: Leading, query: str, epoch: int) -> bool | Deposed:
    """Whether it is barred; false while a process holds the lease, or if another was faster.

    Raises `Unheard` if no answer comes: then it may be barred all the same, and barring it twice is barring it once.
    """
    folder = f"{root}/leases"
    place = f"{folder}/{node_name(query)}"
    base, held = session.read_all([place, f"{place}/held"])
    if held is not None:
        return False
    record = LeaseRecord(epoch, NOBODY_MORE)
    if base is None:
        session.ensure(folder)
        raised: TreeStep = MakeNode(place, dumps(LEASES, record))
    else:
        last, _ = loads(LEASES, base.text, place)
        raised = SetNode(place, dumps(LEASES, record if last.token < epoch else last), base.version)
    newest = CheckNode(ElectionPaths(root).epoch, leading.version)
    done = session.commit(newest, raised, MakeNode(f"{place}/held", NOBODY_MORE, "session"), DropNode(f"{place}/held", 0))
    if isinstance(done, Committed):
        return True
    if done.step == newest:
        return Deposed(f"epoch {leading.epoch} is over: another orchestrator has been made leader")
    return False
