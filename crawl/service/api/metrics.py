"""The service's figures for Prometheus."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from crawl.service.api.endpoints import Endpoint
from crawl.service.service import Service
from crawl.service.service_stats import ServiceStats
from crawl.service.webhooks.assembly import Webhooks
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import (
    BUILD,
    SERVICE_API_ERRORS,
    SERVICE_API_REQUESTS,
    SERVICE_API_SECONDS,
    SERVICE_CHORES_FAILED,
    SERVICE_CLAIMED,
    SERVICE_HOSTS,
    SERVICE_HOSTS_RETIRED,
    SERVICE_IN_LANE,
    SERVICE_JOBS,
    SERVICE_JOBS_PER_SECOND,
    SERVICE_PARSER_RESTARTS,
    SERVICE_PUBLISHED,
    SERVICE_READY,
    SERVICE_REFUSALS,
    SERVICE_RETURNED,
    SERVICE_SEARCH_BEHIND,
    SERVICE_SEGMENT_AGE,
    SERVICE_SEGMENTS,
    SERVICE_STORE_ERRORS,
    SERVICE_STORE_FAILING,
    SERVICE_TRIED_AGAIN,
    SERVICE_WAITING,
    SERVICE_WEBHOOKS,
    SERVICE_WEBHOOKS_WAITING,
    Metric,
)
from crawl.telemetry.prometheus import exposition
from crawl.version import __version__

_PRIORITIES = ("high", "normal", "low")
_PLAIN = {
    "hosts_retired": SERVICE_HOSTS_RETIRED,
    "parser_restarts": SERVICE_PARSER_RESTARTS,
    "segments_published": SERVICE_SEGMENTS,
    "tried_again": SERVICE_TRIED_AGAIN,
}
"""Counters without a label: they are told from the start, as 0, so that their growth is seen."""
_BY_LABEL = {
    "submitted": (SERVICE_JOBS, "state", "submitted_"),
    "ended": (SERVICE_JOBS, "state", "ended_"),
    "refused": (SERVICE_REFUSALS, "reason", ""),
    "returned": (SERVICE_RETURNED, "reason", ""),
    "api_errors": (SERVICE_API_ERRORS, "code", ""),
    "store_errors": (SERVICE_STORE_ERRORS, "operation", ""),
    "webhooks": (SERVICE_WEBHOOKS, "outcome", ""),
    "chores_failed": (SERVICE_CHORES_FAILED, "chore", ""),
}
"""By the first word of a counter's name: the metric, its label, and what stands before the rest."""


_WAITING_PATHS = frozenset(("/v1/fetch",))
"""Whose answers wait for a page."""


def measured(
    endpoint: Endpoint, handle: Callable[[Request], Awaitable[Response]], service: Service
) -> Callable[[Request], Awaitable[Response]]:
    """The same, with its answers counted and timed."""
    name, meter, monotonic = (
        f"{endpoint.method} {endpoint.path}",
        service.meter,
        service.clock.monotonic,
    )
    is_timed = endpoint.path not in _WAITING_PATHS

    async def answered(request: Request) -> Response:
        began = monotonic()
        response = await handle(request)
        meter.add(SERVICE_API_REQUESTS, endpoint=name, status=str(response.status_code))
        if is_timed and not isinstance(response, StreamingResponse):
            meter.observe(SERVICE_API_SECONDS, monotonic() - began, endpoint=name)
        return response

    return answered


def metrics_text(service: Service, webhooks: Webhooks) -> bytes:
    """All of them, as they are now."""
    meter, stats = service.meter, service.stats()
    _set_gauges(meter, stats)
    meter.set(SERVICE_WEBHOOKS_WAITING, webhooks.deliverer.status().scheduled)
    told = {f"webhooks.{outcome}": count for outcome, count in webhooks.counters().items()}
    _count(meter, stats.counters | told)
    return exposition(meter, service.crawl_dir.address.rstrip("/").rpartition("/")[2])


def _set_gauges(meter: Meter, stats: ServiceStats) -> None:
    meter.set(BUILD, 1, version=__version__)
    for priority in _PRIORITIES:
        meter.set(SERVICE_WAITING, stats.waiting.get(priority, 0), priority=priority)
    hosts = stats.hosts
    for state, count in (("busy", hosts.busy), ("idle", hosts.idle), ("owed", hosts.owed)):
        meter.set(SERVICE_HOSTS, count, state=state)
    for metric, value in (
        (SERVICE_READY, float(stats.is_ready)),
        (SERVICE_CLAIMED, stats.claimed),
        (SERVICE_IN_LANE, stats.in_lane),
        (SERVICE_JOBS_PER_SECOND, stats.per_second),
        (SERVICE_SEGMENT_AGE, stats.segment_age_s),
        (SERVICE_PUBLISHED, stats.published_ms / 1000),
        (SERVICE_SEARCH_BEHIND, stats.search_behind_s),
        (SERVICE_STORE_FAILING, stats.store_failing_s),
    ):
        meter.set(metric, value)


def _count(meter: Meter, counters: dict[str, int]) -> None:
    for name, metric in _PLAIN.items():
        _count_up(meter, metric, counters.get(name, 0))
    totals: dict[tuple[Metric, str, str], int] = {}
    for name, count in counters.items():
        kind, _, rest = name.partition(".")
        if kind in _BY_LABEL and rest:
            metric, label, before = _BY_LABEL[kind]
            place = metric, label, before + rest
            totals[place] = totals.get(place, 0) + count
    for (metric, label, value), total in totals.items():
        _count_up(meter, metric, total, **{label: value})


def _count_up(meter: Meter, metric: Metric, total: int, **labels: str) -> None:
    meter.add(metric, total - (meter.value(metric, **labels) or 0.0), **labels)
