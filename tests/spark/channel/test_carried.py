"""The control source in Python, taken to a process that cannot import Headway: Spark's workers need not have it."""

import subprocess
import sys
from pathlib import Path

from pyspark import cloudpickle

from headway.spark.channel.control import CARRIED, ControlSource
from headway.spark.register import carry

THERE = """
import pickle, sys
sys.modules["headway"] = None  # as if it were not installed
source = pickle.loads(open(sys.argv[1], "rb").read())({"host": "127.0.0.1", "port": "9", "secret": ""})
reader = source.simpleStreamReader(None)
first = reader.initialOffset()
old = {"seq": 3, "wm": 0, "live": 0, "share": 5, "seen": 7, "at0": 1, "k_m7": 2, "sub": 1, "every": 1, "first": 0}
print(first, [row[0].isoformat() for row in reader.readBetweenOffsets(old, {**first, "wm": 9_000})])
start = {**first, "sampled": {"share": 1, "seen": 2, "unsure": 3, "z": 4, "widest": 5, "sub_ms": 6, "every_ms": 7,
         "first_ms": 8, "arrived": [9], "keys": {"-1": 2}}}
print(reader.read(start)[1] == start)  # there is no gate: it stays where it is
"""


def test_a_reader_works_where_headway_cannot_be_imported(tmp_path: Path) -> None:
    for module in CARRIED:
        carry(module)
    (tmp_path / "source").write_bytes(cloudpickle.dumps(ControlSource))  # type: ignore[no-untyped-call]
    ran = subprocess.run([sys.executable, "-c", THERE, str(tmp_path / "source")], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    first, unmoved = ran.stdout.splitlines()
    assert first == "{'version': 2, 'seq': 0, 'wm': 0, 'live': 0} ['1979-12-30T00:00:09+00:00']"
    assert unmoved == "True"
