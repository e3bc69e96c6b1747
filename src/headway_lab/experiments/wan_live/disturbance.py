"""What happens to a live wide area in mid-run: thinner links and more rows, or a fault that passes."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headway.cli.wan_run import HELD
from headway.wan.held_sites import HeldSites
from headway.wan.testbed import WanTestbed
from headway_lab.experiments.wan_live.views import AdStream

SITES = ("frankfurt", "ohio", "tokyo")
THIN = ("tokyo", "frankfurt")  # the link that is halved or cut; results are wanted at the second of them
HIT = THIN[1]  # the site that dies: all results and most of the state are there
FAULTS = ("none", "link", "site")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class WanLiveCase:
    """What is sent over what, and when that changes."""

    seconds: int = 180  # for so long rows are sent
    change: int = 60  # after so many, something happens
    rate: int = 300  # rows a second of each site, at first
    kbit: int = 900  # of each link, at first
    window_ms: int = 5_000
    round_s: int = 10
    spike_s: int = 20
    partial: bool = False  # plans with partial aggregation at the sources may be chosen
    fault: str = "none"  # a link, or all compute of a site, is away for a while; without one, rates double and a link halves
    fault_s: int = 60

    def streams(self, site: int, seed: int, epoch_ms: int) -> list[AdStream]:
        first = AdStream(100 * seed + site, self.rate, epoch_ms, self.seconds)
        if self.fault != "none":
            return [first]
        more = AdStream(100 * seed + 50 + site, self.rate, epoch_ms + self.change * 1_000, self.seconds - self.change)
        return [first, more]


@dataclass(frozen=True, slots=True)
class Disturbance:
    """Of one run. `state` is the folder of whoever runs the pipeline, with its notes."""

    bed: WanTestbed
    case: WanLiveCase
    state: Path
    say: Say

    def play(self, epoch_ms: int) -> int:
        """Begins and, if it is a fault, ends it; answers when it was over."""
        sleep_until(epoch_ms + self.case.change * 1_000)
        self._begin()
        if self.case.fault != "none":
            sleep_until(epoch_ms + (self.case.change + self.case.fault_s) * 1_000)
            self.undo()
        return time.time_ns() // 1_000_000

    def undo(self) -> None:
        """Links and sites are as they were."""
        if self.case.fault == "link":
            self.bed.set_link(*THIN, up=True)
            self.say(f"the link {' - '.join(THIN)} is up again")
        elif self.case.fault == "site":
            self._held.release(HIT)
            self.say(f"{HIT} may compute again")
        else:
            self._set_thin(self.case.kbit)

    def _begin(self) -> None:
        if self.case.fault == "link":
            self.bed.set_link(*THIN, up=False)
            self.say(f"the link {' - '.join(THIN)} is down")
        elif self.case.fault == "site":
            self._held.hold(HIT)
            self.say(f"all compute of {HIT} is killed")
        else:
            self._set_thin(self.case.kbit / 2)
            self.say(f"twice the rows, and half of the link {' - '.join(THIN)}")

    def _set_thin(self, kbit: float) -> None:
        for source, target in (THIN, THIN[::-1]):
            self.bed.set_bandwidth(source, target, round(kbit * 1_000))

    @property
    def _held(self) -> HeldSites:
        return HeldSites(self.state / "headway" / HELD)


def sleep_until(at_ms: int) -> None:
    time.sleep(max(0.0, at_ms / 1_000 - time.time()))
