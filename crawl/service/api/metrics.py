"""The service's figures for Prometheus."""

from __future__ import annotations

from crawl.service.service import Service
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import (
    SERVICE_API_ERRORS,
    SERVICE_CLAIMED,
    SERVICE_HOSTS_RETIRED,
    SERVICE_IN_LANE,
    SERVICE_JOBS,
    SERVICE_JOBS_PER_SECOND,
    SERVICE_REFUSALS,
    SERVICE_WAITING,
    Metric,
)
from crawl.telemetry.prometheus import exposition

_PRIORITIES = ("high", "normal", "low")


def metrics_text(service: Service) -> bytes:
    """All of them, as they are now."""
    meter, stats = service.meter, service.stats()
    for priority in _PRIORITIES:
        meter.set(SERVICE_WAITING, stats.waiting.get(priority, 0), priority=priority)
    meter.set(SERVICE_CLAIMED, stats.claimed)
    meter.set(SERVICE_IN_LANE, stats.in_lane)
    meter.set(SERVICE_JOBS_PER_SECOND, stats.per_second)
    for name, count in stats.counters.items():
        kind, _, rest = name.partition(".")
        if kind in ("submitted", "ended"):
            _count_up(meter, SERVICE_JOBS, count, state=f"{kind}_{rest}")
        elif kind in ("refused", "returned"):
            _count_up(meter, SERVICE_REFUSALS, count, reason=rest)
        elif kind == "api_errors":
            _count_up(meter, SERVICE_API_ERRORS, count, code=rest)
        elif name == "hosts_retired":
            _count_up(meter, SERVICE_HOSTS_RETIRED, count)
    return exposition(meter, service.crawl_dir.address.rstrip("/").rpartition("/")[2])


def _count_up(meter: Meter, metric: Metric, total: int, **labels: str) -> None:
    meter.add(metric, total - (meter.value(metric, **labels) or 0.0), **labels)
