"""How the chests of six patients move: the last ten seconds of each, and a running mean, least and greatest value.

What a screen at the bedside needs. The last ten seconds are sliding windows, which Spark has (`last_ten`). What was seen
since the beginning is no window: a fold over each patient's samples in their order keeps it, and the last ten seconds
too (`monitored`). Values are whole millionths, so that the order of addition cannot change a sum.
"""

from headway_lab.workloads.bio.thorax.queries import ChestState, last_ten, monitored, typed
from headway_lab.workloads.bio.thorax.records import PATIENTS, chests, feed
from headway_lab.workloads.bio.thorax.truth import ThoraxTruth

__all__ = ["PATIENTS", "ChestState", "ThoraxTruth", "chests", "feed", "last_ten", "monitored", "typed"]
