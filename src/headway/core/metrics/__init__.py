"""JCT, makespan, rho, utilisation, restarts, GPU-hours: from an event log only."""

from collections.abc import Iterable

from headway.core.control.events import Event
from headway.core.metrics.meter import Meter, tenants_of
from headway.core.metrics.summary import JobOutcome, Summary
from headway.core.metrics.tenants import TenantOutcome, per_tenant

__all__ = [
    "JobOutcome",
    "Meter",
    "Summary",
    "TenantOutcome",
    "per_job",
    "per_tenant",
    "summarise",
    "tenants_of",
]


def summarise(events: Iterable[Event]) -> Summary:
    """A whole log in numbers."""
    return Meter.of(events).summary()


def per_job(events: Iterable[Event]) -> tuple[JobOutcome, ...]:
    """How every job of a log fared, in the order of their submission."""
    return Meter.of(events).outcomes()
