"""The application that a server of HTTP runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from re import Pattern
from types import TracebackType
from typing import Self

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawl.clock import Clock
from crawl.config import Config
from crawl.service.api.endpoints import Endpoint, endpoints
from crawl.service.api.gate import Gate, Refused, json_response
from crawl.service.api.handlers import Handlers
from crawl.service.api.http_limits import HttpLimits
from crawl.service.api.metrics import measured, metrics_text
from crawl.service.api.openapi import openapi
from crawl.service.api.refusal_log import RefusalLog
from crawl.service.api.stream_slots import StreamSlots
from crawl.service.api.streams import Streams
from crawl.service.api.webhook_handlers import WebhookHandlers
from crawl.service.callers.access import LOCAL, AccessPolicy, Caller
from crawl.service.callers.count_flushing import counts_flushed
from crawl.service.callers.keys import KeyRing
from crawl.service.callers.quota import Quotas
from crawl.service.callers.scope import Scope
from crawl.service.callers.settings_access import EventSettings, default_quota
from crawl.service.faces.announcement import address_of, announced
from crawl.service.mcp.in_process import InProcess
from crawl.service.mcp.mounted import MountedTools
from crawl.service.service import Service
from crawl.service.settings import MAX_BODY
from crawl.service.stores.store import Store
from crawl.service.telling.events import EventBus, next_epoch
from crawl.service.telling.listeners import Listener
from crawl.service.telling.notifier import Notifier
from crawl.service.webhooks.assembly import Webhooks
from crawl.storage.crawl_dir import CrawlDir
from crawl.version import __version__

MakeService = Callable[
    [CrawlDir, Config, Clock, Callable[[Store], Sequence[Listener]]],
    Service,
]
"""Opens a service with these further listeners: whole, or a role of it."""


class ServedCrawl:
    """A service with everything that its HTTP interface has beside it; to be entered."""

    def __init__(
        self,
        crawl_dir: CrawlDir,
        config: Config,
        clock: Clock,
        bind: str,
        make: MakeService = Service,
    ) -> None:
        self._config = config
        self._bind = bind
        self._clock = clock
        self._stack = ExitStack()
        self.service = make(crawl_dir, config, clock, self._listeners)
        self.keys = KeyRing.of(config, self.service.store, clock)
        self.quotas = Quotas(self.service.store, clock)
        self.limits = HttpLimits.of(config, self.service.counters)

    def announced(self, host: str, port: int) -> AbstractContextManager[None]:
        """Says on this machine where the service is, while a block lasts: the process that has the
        queue does."""
        if not self.service.has_own_queue:
            return nullcontext()
        return announced(self.service.folder, address_of(host, port))

    @property
    def has_keys(self) -> bool:
        """Whether somebody may ask by a key."""
        return self.keys.has_keys()

    def _listeners(self, store: Store) -> tuple[Listener, ...]:
        events = EventSettings.of(self._config)
        self.bus = EventBus(
            next_epoch(store, self._clock),
            ring=events.ring,
            buffer=events.buffer,
            most_listeners=events.listeners,
        )
        self.webhooks = Webhooks.of(self._config, store, self._clock, is_enabled=self._may_be_told)
        return (Notifier(self.bus, self.webhooks.outbox),)

    def _may_be_told(self, owner: str) -> bool:
        return owner == LOCAL or self.keys.is_enabled(owner)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self.service.stop)
            self.service.start()
            stack.enter_context(counts_flushed(self._config, self.quotas, self.keys))
            self.webhooks.deliverer.start()
            stack.callback(self.webhooks.deliverer.stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def app(self) -> Starlette:
        """The application over this service."""
        gate = Gate(
            AccessPolicy.of(self._config, self._bind),
            self.keys,
            self.quotas,
            self.service.counters,
            self._config[MAX_BODY],
            {scope: default_quota(self._config, scope) for scope in Scope},
            RefusalLog(self._clock),
            body_s=self.limits.timeout_s,
        )
        handlers = Handlers.of(self.service, gate)
        described = endpoints(
            handlers,
            Streams(handlers, self.bus, StreamSlots(self.limits, self._clock)),
            WebhookHandlers(handlers, self.webhooks),
        )
        return _application(described, gate, self.service, self.webhooks)


def _application(
    described: tuple[Endpoint, ...], gate: Gate, service: Service, webhooks: Webhooks
) -> Starlette:
    description = openapi(described, __version__)

    async def describe(request: Request, caller: Caller) -> Response:
        return json_response(description)

    async def metrics(request: Request, caller: Caller) -> Response:
        text = metrics_text(service, webhooks)
        return Response(text, media_type="text/plain; version=0.0.4")

    async def not_found(request: Request, error: Exception) -> Response:
        """A path or a method that there is not, said as every other error is."""
        assert isinstance(error, HTTPException)
        return gate.refuse(request, _missing(error, request, allowed))

    routes = [
        Route(
            each.path,
            measured(
                each,
                gate.guard(
                    each.handle if service.serves(each.scope, each.path) else _elsewhere, each.scope
                ),
                service,
            ),
            methods=[each.method],
        )
        for each in described
    ]
    routes.append(Route("/openapi.json", gate.guard_open(describe)))
    routes.append(Route("/metrics", gate.guard_open(metrics)))
    tools = MountedTools(lambda asked: InProcess(app, asked.scope, service.clock), gate.max_body)
    routes.append(Route("/mcp", gate.guard_any(tools.answer), methods=["POST"]))
    allowed = _allowed(routes)
    app = Starlette(routes=routes, exception_handlers={HTTPException: not_found})
    app.router.redirect_slashes = False  # to an address that the Host header makes
    return app


async def _elsewhere(request: Request, caller: Caller) -> Response:
    """What a process of another role answers."""
    raise Refused(501, "other_role", "a process of another role answers this: --role lookup")


def _allowed(routes: Sequence[Route]) -> list[tuple[Pattern[str], str]]:
    """For each path the methods that it takes, of all its routes."""
    methods: dict[Pattern[str], set[str]] = {}
    for route in routes:
        methods.setdefault(route.path_regex, set()).update(route.methods or ())
    return [(path, ", ".join(sorted(each))) for path, each in methods.items()]


def _missing(
    error: HTTPException, request: Request, allowed: Sequence[tuple[Pattern[str], str]]
) -> Refused:
    if error.status_code != 405:
        return Refused(error.status_code, "not_found", "there is nothing at this path")
    path = request.scope["path"]
    methods = next((each for pattern, each in allowed if pattern.match(path)), "")
    message = f"this path takes {methods}"
    return Refused(405, "method_not_allowed", message, (("Allow", methods),))
