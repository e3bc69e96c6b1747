"""The state of a query that is held, read into Spark's memory before the query goes on.

Spark reads the state in the first batch of a run, into a *provider* for each partition. It keeps providers under the folder
of the state and the id of the run, in the process that runs the tasks. A query that is held has both; so where tasks run in
the driver, as they do on a node, a provider can be put there from outside, with what has been copied ahead. The first batch
then finds it, and adds what has come since. Whoever gives the held query up need not think of it: Spark forgets the
providers of a run that is over.

Only aggregations, of which we know how Spark encodes their keys. What others keep is read as ever.
"""

import json
import logging
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError

from headway.errors import HeadwayError
from headway.spark.checkpoint.contents import PROVIDER, logged_conf
from headway.spark.checkpoint.folder import Folder, folder_of
from headway.spark.held_start import HeldStart

LOG = logging.getLogger("headway")
AGGREGATION = "stateStoreSave"
STATE = "org.apache.spark.sql.execution.streaming.state"


@dataclass(frozen=True, slots=True)
class StatefulOperator:
    """By its metadata in the checkpoint."""

    number: int
    partitions: int


def loaded_ahead(spark: Any, held: HeldStart, place: str, origin: str, batch: int) -> int:
    """Read the state of `batch`, which is committed at `origin` and whose state is in `place`. Returns how many partitions
    are in memory; what cannot be read now is read in the first batch."""
    if not spark.sparkContext._jsc.isLocal():  # tasks look for it in other processes
        return 0
    folder, count = folder_of(spark, place), 0
    try:
        conf = logged_conf(folder_of(spark, origin), batch)
        reader = _reader(spark, held, conf) if PROVIDER in conf else None
        for operator in _operators(folder) if reader is not None else ():
            for partition in range(operator.partitions):
                reader.read(operator.number, partition, batch + 1)  # type: ignore[union-attr] # there is one
                count += 1
    except (HeadwayError, Py4JError, OSError, TypeError, ValueError, LookupError) as error:  # Spark 4.0 has other classes
        LOG.info("the state in %s is read in the first batch, since it cannot be read ahead: %s", place, error)
    return count


def _operators(folder: Folder) -> list[StatefulOperator]:
    found = []
    for name in folder.names("state"):
        text = folder.read(f"state/{name}/_metadata/metadata") if name.isdigit() else None
        said = json.loads((text or "").partition("\n")[2] or "{}")
        stores = said.get("stateStoreInfo") or []
        if said.get("operatorInfo", {}).get("operatorName") != AGGREGATION or len(stores) != 1:
            continue
        (store,) = stores
        if store.get("storeName") == "default" and store.get("numColsPrefixKey") == 0:
            found.append(StatefulOperator(int(name), int(store["numPartitions"])))
    return found


class _StateReader:
    """Reads into where the run of a held query looks."""

    def __init__(self, spark: Any, run: Any, root: str, conf: Any, hadoop: Any) -> None:
        """`root` is where the run has its state, as it says so itself: Spark compares the text."""
        jvm = spark._jvm
        self._jvm, self._run, self._root = jvm, run, root
        self._conf, self._hadoop = conf, hadoop
        self._state = jvm.java.lang.Class.forName(f"{STATE}.StateStore$").getField("MODULE$").get(None)
        self._of = getattr(jvm, STATE)
        self._none = jvm.scala.Option.empty()

    def read(self, operator: int, partition: int, version: int) -> None:
        store = self._of.StateStoreId(self._root, operator, partition, "default")
        provider = self._of.StateStoreProviderId(store, self._run)
        keys, values = self._schemas(operator)
        spec = self._of.NoPrefixKeyStateEncoderSpec(keys)
        try:
            found = self._state.getReadOnly(
                provider, keys, values, spec, version, self._none, self._none, False, self._conf, self._hadoop, False
            )
        except BaseException:
            self._state.removeFromLoadedProvidersAndClose(provider)
            raise
        found.abort()  # we have changed nothing; what was read stays

    def _schemas(self, operator: int) -> tuple[Any, Any]:
        """Of keys and of values, by the checkpoint's own word."""
        store = self._of.StateStoreId(self._root, operator, 0, "default")
        provider = self._of.StateStoreProviderId(store, self._run)
        path = self._of.StateSchemaCompatibilityChecker.schemaFile(store.storeCheckpointLocation())
        paths = self._jvm.java.util.ArrayList()
        paths.add(path)
        listed = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(paths).toList()
        checker = self._of.StateSchemaCompatibilityChecker(provider, self._hadoop, listed, self._none, False)
        schemas = checker.readSchemaFile()
        if schemas.size() != 1:
            raise HeadwayError(f"the state of operator {operator} has {schemas.size()} families of columns: expected one")
        return schemas.head().keySchema(), schemas.head().valueSchema()


def _reader(spark: Any, held: HeldStart, conf: dict[str, str]) -> _StateReader | None:
    """None if the held query is not there any more."""
    query = held.query
    if query is None:
        return None
    run = query.streamingQuery()
    session = run.sparkSessionForStream().sessionState()
    own = session.conf().clone()  # with what the checkpoint says of it, as the run will have it
    for key, value in conf.items():
        own.setConfString(key, value)
    stores = getattr(spark._jvm, STATE).StateStoreConf.apply(own)
    if stores.enableStateStoreCheckpointIds():  # then a version has a name besides its number
        return None
    return _StateReader(spark, run.runId(), run.checkpointFile("state"), stores, session.newHadoopConf())
