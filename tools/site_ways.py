"""What to do about a message that does not say it itself: by words of the message."""

import re

# A message that has one of these says what to do.
_SAYS = re.compile(
    r"expected|pip install|'headway |'rt\.|: (?:ask|bring|connect|correct|drop|finish|give|install|keep|make|name|"
    r"read|run|see|stamp|start|stop|take|try|use|wait|watermark|wrap)\b|"
    r", or (?:correct|drop|give|name|run|set|start|use)\b|there is nothing to"
)

WAYS: dict[str, str] = {
    "no testbed here": "run it as root, or on a machine that permits network namespaces (`unshare -n true` tries it)",
    "no probe of": "nothing: a link is probed again by itself. If it stays so, the agent at the other end is gone",
    "no answer to a pull of": "nothing: what has come is kept, and the transfer goes on where it was",
    "this side was stopped in mid-transfer": "start the transfer again: it goes on where it was",
    "the connection failed": "look whether the agent there runs, and whether its port can be reached; then start it again",
    "its content is not the one that was listed": "stop whoever writes into that folder while it is transferred",
    "a site agent answered": "look whether the address is that of a site's agent, of this version",
    "a site agent lists a file": "nothing of it was taken. Look who runs at that address",
    "is not as Spark writes it": "name an event log of Spark's, or progress reports as `query.lastProgress` has them",
    "cannot be read": "look at the file's permissions, and at the disk",
    "has ended at once": "what it said stands in the message, and more in its log",
    "does not serve within": "its logs say which part did not start; a small machine needs fewer nodes",
    "no query": "name one of those that it has",
    "no window of it has come out yet": "wait for a window and its patience",
    "only later than": "give a later time with `--at`, or none",
    "by a mistake of its own": "a bug of ours: its traceback is above, and another orchestrator goes on. Please report it",
    "a record was not taken": "the broker says why; the batch fails, and is run again",
    "cannot be made a data folder": "name another folder, or delete what is in it",
    "a transaction there stays open": "end the program that has it open, or wait for Kafka's `transaction.timeout.ms`",
    "is not in Spark's log": "the checkpoint lacks a file: restore it, or start with a new one",
    "its control source did not call": "start fewer queries at once, and let `headway doctor` try a socket",
    "since the lease is in doubt": "look with `headway checkpoint show` who has it, before anything else",
    "it is as it was": "nothing was changed; do what the rest of the line says, and give the command again",
    "has failed": "the rest of the line is Spark's error; `rt.start(..., restart=3)` starts it again by itself",
    "has not come to its gate": "a batch of it runs for long, or hangs: `rt.status()` says which, with its stack",
    "has taken over its checkpoint": "another driver runs this query now; stop one of the two",
    "the journal has forgotten": "ask about a newer moment: a journal keeps what fits into its bounds",
    "the server did not answer": "see its log; on a small machine give it more time and start it again",
    "not a record of": "another program writes there: give the fleet a path of its own in ZooKeeper (`--root`)",
    "a record of": "use the version of Headway that has written it",
    "ZooKeeper takes": "a fleet of so many queries needs several orchestrators with paths of their own (`--root`)",
    "it was removed: the fleet": "start the node again; keep other programs away from the fleet's path",
    "has no batch of": "give a window that has come out: `headway explain` lists the worst of each query",
    "needs pyspark 4.0 or later": "`pip install 'pyspark>=4'`",
    "rows were on their way": "a bug of ours in the simulator: please report it with the command that you gave",
    "needs the package": "install it with pip, or the extra that brings it",
    "--window and --at are about one query": "name the query, as the line shows",
    "Spark did not start": "read the log that it names; most often Java or memory",
    "is it the right secret and path?": "look at `--zookeeper-secret` and `--root`",
    "a relay's writer is for foreachBatch": "`writeStream.foreachBatch(relay.writer(rt))`",
    "asks a sample for": "the line says what there is",
    "does not stop": "look at what its `foreachBatch` waits for",
    "one of them may be sampled": "leave `rt.approximate` at one input, and read the others with `rt.watermark`",
    "is stopped: ": "the rest of the line says why; start it again when that is mended",
    "needs a gated order": "`hw.Runtime(spark)` has one; `Stock`, `FairPools` and `FixedTrigger` have none",
    "the dashboard did not start": "the rest of the line is what it said: a port that is taken, mostly",
    "without Kafka's connector": "make the first session of the program with `hw.session(kafka=True)`",
    "topic ": "the rest of the line is the broker's word: look at the topic's name and its permissions",
    " answers ": "the rest of the line is what it answered; look whether the address is that of a node or an orchestrator",
    "failed: ": "the rest of the line is the error of the code or of Spark",
    "is used twice": "give one of the two another name",
    "is not Python": "mend that line",
}


def way_out(message: str) -> str:
    """What to do about it; nothing where the message says so itself, or where we do not know."""
    if _SAYS.search(message):
        return ""
    return next((way for words, way in WAYS.items() if words in message), "")


def silent(message: str) -> bool:
    """Neither the message nor the table says what to do. What has no words of its own is somebody else's message."""
    own = re.search(r"\w", message.replace("…", ""))
    return own is not None and not _SAYS.search(message) and not way_out(message)
