"""What to do about a message that does not say it itself: by words of the message."""

import re

# A message that has one of these says what to do.
_SAYS = re.compile(
    r"expected|pip install|'headway |'rt\.|: (?:ask|bring|connect|correct|drop|finish|give|install|keep|make|name|"
    r"read|run|see|stamp|start|stop|take|try|use|wait|watermark|wrap)\b|"
    r", or (?:correct|drop|give|name|run|set|start|use)\b|there is nothing to"
)

# Of several that fit, the longest counts.
WAYS: dict[str, str] = {
    "own pages do not show this query": "open the link while it runs, in a session with `spark.ui.enabled=true`",
    "its session with ZooKeeper is over": "nothing: it opens another one; if that lasts, look at ZooKeeper",
    "it is tried again until that one is gone": "nothing, unless that one is meant to stay: then name this node otherwise",
    "cannot tell how it stands": "nothing: it is tried again; the rest of the line is the error",
    "no testbed here": "run it as root, or on a machine that permits network namespaces (`unshare -n true` tries it)",
    "no probe of": "nothing: a link is probed again by itself. If it stays so, the agent at the other end is gone",
    "no answer to a pull of": "nothing: what has come is kept, and the transfer goes on where it was",
    "it is on another node's disk": "look whether that node runs, and whether its port can be reached from here",
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
    # of nodes, orchestrators and ZooKeeper
    "ends at once: its JVM": "see the end of its log: memory, most often. Its queries go on elsewhere",
    "for this run is in": "nothing: give that file as `--token-file` to whoever asks this node",
    "nodes elsewhere may see another folder": "give `--pipelines` as an absolute path that is the same on every machine",
    "the token goes over the network": "the line says it: a certificate, with `--cert` and `--key`",
    "the journal knows none of this name": "look for its name on the first page, or open the journal that has it",
    "gives no answer": "look whether it runs, and whether its address can be reached; the same command may be given again",
    "our place in the line": "nothing: it stands for election again by itself",
    "the line of candidates": "nothing: it stands for election again by itself",
    "is over, … has the sink": "nothing: a newer incarnation of the query writes there; this one ends",
    "no orchestrator is the primary": "start one, or wait until one is elected; look at the addresses that were given",
    "nothing has been heard for too long": "nothing: it is asked again when ZooKeeper answers; look whether ZooKeeper runs",
    "the server is down": "only in tests, whose store is memory: it is told as a server that is gone would be",
    "the session of … is": "nothing: the part that held it begins a new session; look at ZooKeeper if it happens again",
    "the session of … with ZooKeeper": "nothing: a new one is begun by itself; if it happens again, look at the network",
    "the session with ZooKeeper is over": "nothing: a new session is begun by itself",
    "no answer from ZooKeeper": "look whether it runs, and whether its address can be reached; it is tried again",
    "ZooKeeper has broken off": "look at its log, and whether `--zookeeper` is its client port",
    "the address says otherwise": "a client of yours sent one query's command to the address of another",
    "the lease of query … is lost": "nothing: another driver has it, and the query is stopped here",
    "the stages on other nodes cannot be asked": "nothing: it is tried again; look at `--peer`",
    " is missing": "a client of another version, or one of yours: `docs/fleet-node.md` has the fields",
    "is no field that we know": "a client of another version, or one of yours: `docs/fleet-node.md` has the fields",
    "does not end: it is left behind": "look at what it waits for (its log), and end that process",
    "is the primary, but has not read": "nothing: ask again in a moment",
    "it cannot go on": "start the query anew: this life of it has ended",
    "can be abandoned": "nothing was changed: look with `headway fleet status` where the query is",
    "can be drained": "nothing was changed: look with `headway fleet status` how the query is",
    "drain it first": "drain that life of it, and start the new one then",
    "needs file and folder": "a client of yours: the command lacks what it needs",
    "has no session with ZooKeeper": "nothing: it begins a new one by itself; look at ZooKeeper if it goes on",
    "no node answers within": "read the log that it names",
    "writes as … by now": "another run of this writer has taken its place: stop one of the two",
    "the report of query": "nothing: the query goes on, and the next report is read again",
    # of checkpoints that are copied
    "is not committed in": "bring the checkpoint of that incarnation back, or start with a new one",
    "has not got": "the copy lacks files that were listed: look at the disk, and move the query again",
    "is not what it was copied from": "somebody else writes there, or files were removed: move the query again",
    ", now that it has": "files of the new partitions are missing: look at the disk, and give the command again",
    "… lacks …": "bring these files back, or start with a new checkpoint",
    "has taken over … while it was repartitioned": "keep other drivers away, and start again from a copy of the checkpoint",
    # of a job, while it runs
    "connector to Kafka is not to be had": "nothing, if it works; else take a PySpark for which there is one",
    "rows agree with the wall clock": "nothing: time goes on by the clock as it was set",
    "time goes on as before until rows agree": "nothing; correct the clock if it was set by mistake",
    "the journal … …": "queries go on without it: look at the disk and at the file's permissions",
    "goes on ungated": "nothing at once: it runs by its rows, as in stock Spark. The rest of the line says why",
    "is stopped though its batch has not ended": "look at what its sink waits for; the batch is run again at the next start",
    "advice: ": "nothing in your job is touched; please report it with this line",
    "cannot be looked at": "nothing: it is tried again, and windows wait no longer than `idle_after`; look at the network",
    "is not looked at any more": "nothing: Spark has ended",
    "cannot be followed": "nothing: it is tried again, and windows wait no longer than they may",
    "…, partition …: …": "the rest of the line says what cannot be read; what is behind it is read on",
    "has another checkpoint than before": "if that was not intended, start the stage on the checkpoint that it had",
    "count as late behind it": "give the relay's writer a longer `lag`, or the stage more patience",
    "is faster": "the line says it: make the session with `hw.tune()`, or give the jar",
    "the status cannot be written": "the dashboard shows what it knew: look at the disk",
    "is run as availableNow": "nothing: Spark's own advice is to write `availableNow=True`",
    # of a wide area
    "the links cannot be looked at": "nothing: it is tried again; links keep the bandwidth that was last known",
    "does not come from": "look at that site and at the disk: nothing starts before it is there",
    "has committed no batch": "look at the log of that site's node; the change is taken back if it can be",
    "its node has begun anew": "nothing: the piece is started again from its checkpoint",
    "it does not know this query": "nothing: the piece is started again from its checkpoint",
    "there is no such": "look whether both ends are of this version, and whether the folder was removed",
    "the file has … bytes": "the file has become shorter meanwhile: the pull begins again",
    "another pull into this folder": "wait until it is over",
    "metrics cannot be sent": "the line says it: a collector, or another `--otlp`",
    "… is … at …": "the rest of the line is what the site says; nothing was changed elsewhere",
    " of … at …": "the rest of the line is what the site says; nothing was changed elsewhere",
    "… at …: …": "the rest of the line is the broker's word; it is read on",
    ", line …: …": "mend that line: the rest is Python's own error",
    "is used twice": "give one of the two another name",
    "is not Python": "mend that line",
}


def way_out(message: str) -> str:
    """What to do about it; nothing where the message says so itself, or where we do not know."""
    if _SAYS.search(message):
        return ""
    fitting = [words for words in WAYS if words in message]
    return WAYS[max(fitting, key=len)] if fitting else ""


def silent(message: str) -> bool:
    """Neither the message nor the table says what to do. What has no words of its own is somebody else's message."""
    own = re.search(r"\w", message.replace("…", ""))
    return own is not None and not _SAYS.search(message) and not way_out(message)
