"""Rows on their way: one flow for each stage, site of its input, and site of its own.

A flow has two queues: in a topic where its rows were made, and in one where they will be processed. A change of where a
stage runs takes what is in neither of its new sites back to where it was made; nothing else is sent twice.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headway.errors import HeadwayError
from headway.model.arrays import Floats
from headway.sim.wan.cohorts import Rows, split


@dataclass(frozen=True, slots=True)
class FlowId:
    """Which stage sends from where, to which stage and where. Senders that are no more are there until their rows are
    gone."""

    sender: str
    source: int  # sites
    stage: str
    target: int
    row_bytes: float


class Flows:
    """All flows of a pipeline: a table of rows on the way, and one of rows that have come."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.ids: list[FlowId] = []
        self.wire = np.zeros((0, steps), dtype=np.int64)
        self.here = np.zeros((0, steps), dtype=np.int64)
        self.fresh = np.zeros(0)  # rows of this step
        self.before = np.zeros(0)  # and of the one before
        self.to_stage: dict[str, list[int]] = {}
        self._at: dict[FlowId, int] = {}

    def row(self, flow: FlowId) -> int:
        """The place of a flow, made if it is new."""
        if flow not in self._at:
            self._at[flow] = len(self.ids)
            self.ids.append(flow)
            nothing = np.zeros((1, self.steps), dtype=np.int64)
            self.wire, self.here = np.vstack([self.wire, nothing]), np.vstack([self.here, nothing])
            self.fresh, self.before = np.append(self.fresh, 0.0), np.append(self.before, 0.0)
            self.to_stage.setdefault(flow.stage, []).append(self._at[flow])
        return self._at[flow]

    @property
    def source(self) -> Rows:
        return np.array([flow.source for flow in self.ids], dtype=np.int64)

    @property
    def target(self) -> Rows:
        return np.array([flow.target for flow in self.ids], dtype=np.int64)

    @property
    def row_bytes(self) -> Floats:
        return np.array([flow.row_bytes for flow in self.ids])

    def waiting(self, stage: str) -> int:
        rows = self.to_stage.get(stage, [])
        return int(self.wire[rows].sum() + self.here[rows].sum())

    def oldest(self, at: int) -> int:
        """The oldest birth that waits anywhere; this step if none does."""
        busy = np.flatnonzero((self.wire[:, : at + 1] + self.here[:, : at + 1]).any(axis=0))
        return int(busy[0]) if len(busy) else at

    def oldest_for(self, stage: str, low: int, at: int) -> int:
        """The oldest birth from `low` on that waits for a stage; the step to come if none does."""
        places = self.to_stage.get(stage)
        if not places:
            return at + 1
        waits = (self.wire[places, low : at + 1] + self.here[places, low : at + 1]).any(axis=0)
        found = np.flatnonzero(waits)
        return low + int(found[0]) if len(found) else at + 1

    def demand(self, sites: int) -> Floats:
        """Bytes by link that wait or are about to come."""
        out = np.zeros((sites, sites))
        if self.ids:
            # What sources sent is on the wire already; what stages will send is guessed by the step before.
            amount = (self.wire.sum(axis=1) + np.maximum(0.0, self.before - self.fresh)) * self.row_bytes
            np.add.at(out, (self.source, self.target), amount)
        return out

    def rerouted(self, stage_of: Callable[[FlowId], str], parts: dict[str, Floats]) -> None:
        """Every flow to the stage that has its rows now, and to its sites. Rows at a site that stays are kept there."""
        old = [(flow, self.wire[place], self.here[place]) for place, flow in enumerate(self.ids)]
        before = int(self.wire.sum() + self.here.sum())
        self.__init__(self.steps)  # type: ignore[misc]  # begins anew
        for flow, wire, here in old:
            if not wire.any() and not here.any():
                continue
            stage = stage_of(flow)
            shares = parts[stage]
            stays = stage == flow.stage and shares[flow.target] > 0
            if stays:
                kept = self.row(FlowId(flow.sender, flow.source, stage, flow.target, flow.row_bytes))
                self.here[kept] += here
            back = wire if stays else wire + here
            targets = np.flatnonzero(shares)
            for target, rows in zip(targets.tolist(), split(back, shares[targets]), strict=True):
                place = self.row(FlowId(flow.sender, flow.source, stage, target, flow.row_bytes))
                self.wire[place] += rows
        if int(self.wire.sum() + self.here.sum()) != before:
            raise HeadwayError(f"{before} rows were on their way, and {int(self.wire.sum() + self.here.sum())} are now")
