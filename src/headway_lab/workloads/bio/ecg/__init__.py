"""QRS complexes in electrocardiograms, found on the way by the method of Pan and Tompkins (1985).

A chain of whole-number filters (`design`), the peaks of what they give (`peaks`), and a judge of peaks (`rhythm`); together
an online detector whose state is a value (`detector`). In Spark it runs record by record, in the order of time (`queries`).
The MIT-BIH records have the beats as cardiologists saw them (`mitbih`), and `scoring` compares.
"""

from headway_lab.workloads.bio.ecg.detector import QrsDetector, detected, fed, finished, started
from headway_lab.workloads.bio.ecg.mitbih import EcgRecord, feed, packets, records
from headway_lab.workloads.bio.ecg.queries import beats, typed
from headway_lab.workloads.bio.ecg.rhythm import Beat
from headway_lab.workloads.bio.ecg.scoring import BeatScore, scored

__all__ = [
    "Beat", "BeatScore", "EcgRecord", "QrsDetector", "beats", "detected", "fed", "feed", "finished", "packets", "records",
    "scored", "started", "typed",
]  # fmt: skip
