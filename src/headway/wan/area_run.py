"""A geo pipeline on a testbed, from its servers to its controller, for as long as this lives."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from headway.errors import HeadwayError
from headway.loop.kernel import Log
from headway.model.adaptation import AdaptationPolicy
from headway.model.area import LOCAL
from headway.wan.control.controller import AreaController, AreaJob, AreaPace
from headway.wan.control.link_gauge import LinkGauge, counted
from headway.wan.control.sight import KnownArea
from headway.wan.control.sites import SiteAddress
from headway.wan.held_sites import HeldSites
from headway.wan.job import GeoJob, job_in
from headway.wan.site_servers import SiteServers, SiteSize
from headway.wan.testbed import WanTestbed

LATENCY_MS = 1.0  # of every link: it is not shaped


@dataclass(frozen=True, slots=True)
class AreaRunSettings:
    """How a pipeline is run."""

    policy: AdaptationPolicy
    pace: AreaPace = AreaPace()
    size: SiteSize = SiteSize()
    usd_per_gb: float = 0.02
    rates: Mapping[str, float] = field(default_factory=dict)  # rows a second by source; else they are measured
    held: HeldSites | None = None  # sites that are to be down


class AreaRun(AbstractContextManager["AreaRun"]):
    """Everything that it starts ends with it. To be used by one thread, in the network of the site of the sink."""

    def __init__(
        self, bed: WanTestbed, file: Path, folder: Path, journal: Log, settings: AreaRunSettings, say: Callable[[str], None]
    ) -> None:
        self.job = checked_job(file, bed)
        self._bed, self._file, self._folder, self._say = bed, file.resolve(), folder.resolve(), say
        self._settings = settings
        self.servers = SiteServers(bed, self._folder, settings.size, say, settings.held)
        self.gauge = LinkGauge(bed.names, lambda: counted(bed))
        wanted = AreaJob(self.job, self._file, self._folder, settings.rates)
        self.controller = AreaController(
            wanted, self._known(self.servers.addresses), self.servers.token, self.gauge, settings.policy, journal,
            settings.pace,
        )  # fmt: skip
        self._heard = 0

    def __enter__(self) -> "AreaRun":
        try:
            self.servers.start()
            self.servers.make_topics([(source.site, self.job.topic(source.name)) for source in self.job.query.sources])
            self._say("placing the pipeline")
            self.controller.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        try:
            self.controller.stop()
        finally:
            self.servers.stop()

    def look(self) -> None:
        """Once a second or so."""
        for line in self.servers.look_after():
            self._say(line)
        self.controller.step()
        said = self.controller.said
        for line in said[self._heard :]:
            self._say(line)
        self._heard = len(said)

    @property
    def wan_bytes(self) -> float:
        """That have crossed links so far, whatever for."""
        return float(self.gauge.total.sum())

    @property
    def dollars(self) -> float:
        return self.wan_bytes / 1e9 * self._settings.usd_per_gb

    def _known(self, sites: tuple[SiteAddress, ...]) -> KnownArea:
        names = self._bed.names
        bandwidth = np.full((len(names), len(names)), LOCAL)
        for link in self._bed.status():
            bandwidth[names.index(link.source), names.index(link.target)] = link.bits_per_s / 8
        apart = 1.0 - np.eye(len(names))
        return KnownArea(sites, bandwidth, LATENCY_MS * apart, self._settings.usd_per_gb * apart)


def checked_job(file: Path, bed: WanTestbed) -> GeoJob:
    """The job of a file, whose sites are all there."""
    job = job_in(file)
    for site in (*(source.site for source in job.query.sources), job.query.sink_site):
        if site not in bed.names:
            raise HeadwayError(f"job = {str(file)!r}: expected sites of the testbed ({', '.join(bed.names)}), not {site!r}")
    return job
