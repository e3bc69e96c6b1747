"""Where a pipeline begins: rates are measured, and the policy's limits say which plan is placed where."""

import time
from collections.abc import Mapping

from headway.kafka import topics
from headway.model.adaptation import AdaptationPolicy
from headway.model.area import Area, Links, Site
from headway.model.declared import adaptation_declares
from headway.policy.adaptation.first import first_placement
from headway.policy.adaptation.stage_program import Limits
from headway.wan.control.changes import first_plan
from headway.wan.control.record import AreaRecord
from headway.wan.control.sight import KnownArea
from headway.wan.job import GeoJob

MEASURED_S = 5.0
LEAST_PER_S = 1.0  # of a source that is silent now


def first_record(job: GeoJob, known: KnownArea, policy: AdaptationPolicy, rates: Mapping[str, float]) -> AreaRecord:
    """The plan and the places that suit best what the sources send now. Raises a HeadwayError if none fits."""
    sent = rates or measured_rates(job, {site.name: site.broker for site in known.sites})
    wished = adaptation_declares(policy)
    limits = Limits(wished.alpha, wished.goal, wished.budget_usd_h)
    plans = job.plans
    kept = {
        name: max(LEAST_PER_S, rate * next(plan.stage(name).selectivity for plan in plans)) for name, rate in sent.items()
    }
    plan, placed = first_placement(area_of(known), plans, kept, limits)
    return first_plan(job.query.name, known.sites, plan, placed.deployed)


def area_of(known: KnownArea) -> Area:
    sites = tuple(Site(site.name, site.slots) for site in known.sites)
    age = known.bandwidth * 0.0
    return Area(sites, Links(known.latency_ms, known.bandwidth, known.usd_per_gb, age))


def measured_rates(job: GeoJob, brokers: Mapping[str, str], seconds: float = MEASURED_S) -> dict[str, float]:
    """Rows a second that come into the topics of the sources."""

    def counted() -> dict[str, int]:
        found = {}
        for source in job.query.sources:
            found[source.name] = sum(topics.ends(brokers[source.site], job.topic(source.name)).values())
        return found

    before, began = counted(), time.monotonic()
    time.sleep(seconds)
    after, took = counted(), time.monotonic() - began
    return {name: (after[name] - before[name]) / took for name in after}
