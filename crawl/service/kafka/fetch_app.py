"""What a fetching process answers by HTTP: whether it works, and its figures."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Self

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import CrawlError
from crawl.service.api.gate import Refused, error_response, json_response
from crawl.service.api.http_limits import HttpLimits
from crawl.service.kafka.fetching import FetchService
from crawl.service.kafka.values import KafkaSettings
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import (
    SERVICE_CLAIMED,
    SERVICE_HOSTS_RETIRED,
    SERVICE_IN_LANE,
    SERVICE_RETURNED,
    SERVICE_WAITING,
)
from crawl.telemetry.prometheus import exposition


class ServedFetch:
    """A fetching process with its endpoints; to be entered."""

    def __init__(self, config: Config, clock: Clock, settings: KafkaSettings) -> None:
        self.service = FetchService(config, clock, settings)
        self._meter = Meter()
        self.limits = HttpLimits.of(config, self.service.counters)

    def announced(self, host: str, port: int) -> AbstractContextManager[None]:
        """Nobody looks for it in the crawl's folder."""
        return nullcontext()

    @property
    def has_keys(self) -> bool:
        return False

    def __enter__(self) -> Self:
        try:
            self.service.start()
        except BaseException:
            self.service.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.service.stop()

    def app(self) -> Starlette:
        """The application over this service."""
        return Starlette(
            routes=[
                Route("/healthz", self._health),
                Route("/readyz", self._ready),
                Route("/metrics", self._metrics),
            ]
        )

    async def _health(self, request: Request) -> Response:
        if self.service.fault is not None:
            message = "a part of the service has ended; its log has more"
            return error_response(Refused(500, "ended", message))
        return json_response({"status": "ok"})

    async def _ready(self, request: Request) -> Response:
        try:
            await run_in_threadpool(self.service.check)
        except CrawlError as error:
            retry = (("Retry-After", "5"),)
            return error_response(Refused(503, "not_ready", str(error), retry))
        return json_response({"status": "ready", **self.service.figures()})

    async def _metrics(self, request: Request) -> Response:
        meter, figures = self._meter, self.service.figures()
        meter.set(SERVICE_CLAIMED, self.service.stats().claimed)
        meter.set(SERVICE_WAITING, figures["held"], priority="normal")
        meter.set(SERVICE_IN_LANE, figures["in_lane"])
        for name, count in figures.items():
            kind, _, reason = name.partition(".")
            if kind in ("returned", "withheld"):
                labels = {"reason": reason if kind == "returned" else name}
                known = meter.value(SERVICE_RETURNED, **labels) or 0.0
                meter.add(SERVICE_RETURNED, count - known, **labels)
        retired = figures.get("hosts_retired", 0)
        meter.add(SERVICE_HOSTS_RETIRED, retired - (meter.value(SERVICE_HOSTS_RETIRED) or 0.0))
        return Response(exposition(meter, "fetch"), media_type="text/plain; version=0.0.4")
