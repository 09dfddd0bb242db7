"""Spans by OpenTelemetry to an OTLP/HTTP collector; its SDK, because collectors of every make
understand it, and batching, limits and context are done there.

HTTP and not gRPC: it passes proxies and costs no native library on every executor.
"""

from __future__ import annotations

import logging
import os
import socket
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from crawl.clock import Clock, SystemClock
from crawl.errors import EnvironmentFault
from crawl.hints import install
from crawl.masking import masked_text
from crawl.telemetry.settings import TRACES_ENDPOINT, Settings
from crawl.version import __version__

_SILENCE_S = 60.0
"""After a collector did not answer: a crawl of a thousand tasks must not wait a thousand times."""

_log = logging.getLogger(__name__)


class Span:
    """An open span: attributes and a failure can be added. This one is of what is not traced."""

    def set(self, **attributes: object) -> None:
        return

    def fail(self, error: BaseException) -> None:
        return


class _OpenSpan(Span):
    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, **attributes: object) -> None:
        self._span.set_attributes(_attributes(attributes))

    def fail(self, error: BaseException) -> None:
        from opentelemetry.trace import Status, StatusCode

        # not by record_exception, which repeats the message and the stack as they are
        kind, stack = type(error).__name__, "".join(traceback.format_exception(error))
        self._span.add_event(
            "exception",
            {
                "exception.type": kind,
                "exception.message": masked_text(str(error)),
                "exception.stacktrace": masked_text(stack),
            },
        )
        self._span.set_status(Status(StatusCode.ERROR, f"{kind}: {masked_text(str(error))}"))


class Tracing:
    """The spans of one process."""

    def __init__(self, settings: Settings, role: str, clock: Clock | None = None) -> None:
        require_extra()
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        # the SDK tells of every failed attempt; one line of ours is enough
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        exporter = OTLPSpanExporter(
            endpoint=traces_url(settings.endpoint), timeout=settings.timeout_s
        )
        resource = Resource.create(
            {
                "service.name": os.environ.get("OTEL_SERVICE_NAME", "nutria"),
                "service.version": __version__,
                "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
                "host.name": socket.gethostname(),
                "process.pid": os.getpid(),
                "nutria.role": role,
            }
        )
        self._timeout_ms = round(settings.timeout_s * 1000)
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(
            BatchSpanProcessor(
                _with_pauses(exporter, settings.endpoint, clock or SystemClock()),
                schedule_delay_millis=2000,
                export_timeout_millis=self._timeout_ms,
            )
        )
        self._tracer = self._provider.get_tracer("nutria", __version__)

    @contextmanager
    def span(self, name: str, parent: str, attributes: Mapping[str, object]) -> Iterator[Span]:
        """A span around the block, below `parent` (a traceparent) or this thread's own."""
        with self._tracer.start_as_current_span(
            name,
            context=_extracted(parent) if parent else None,
            attributes=_attributes(attributes),
            record_exception=False,
            set_status_on_exception=False,
        ) as opened:
            yield _OpenSpan(opened)

    def past(
        self, name: str, parent: str, start_ns: int, end_ns: int, attributes: Mapping[str, object]
    ) -> None:
        """A span of something that is over."""
        self._tracer.start_span(
            name,
            context=_extracted(parent),
            start_time=start_ns,
            attributes=_attributes(attributes),
        ).end(end_ns)

    def flush(self) -> None:
        """Sends what waits: the process may be ended before it sends by itself."""
        self._provider.force_flush(self._timeout_ms)

    def close(self) -> None:
        self.flush()
        self._provider.shutdown()


def require_extra() -> None:
    """EnvironmentFault where the packages are not installed."""
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401
    except ModuleNotFoundError as missing:
        raise EnvironmentFault(
            f"{TRACES_ENDPOINT.name} needs {missing.name}: {install('traces')}"
        ) from None


def traces_url(endpoint: str) -> str:
    """Where spans are sent: the collector's usual path, unless the endpoint names one."""
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise EnvironmentFault(
            f"{TRACES_ENDPOINT.name}: expected http://HOST:4318, got {endpoint!r}"
        )
    return endpoint if parts.path.strip("/") else f"{endpoint.rstrip('/')}/v1/traces"


def traceparent() -> str:
    """This thread's span as W3C's header, for a worker or another program; or nothing."""
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", "")


def _extracted(parent: str) -> Any:
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    return TraceContextTextMapPropagator().extract({"traceparent": parent}, Context())


def _attributes(values: Mapping[str, object]) -> dict[str, Any]:
    return {
        name if "." in name else f"nutria.{name}": value
        if isinstance(value, str | bool | int | float)
        else str(value)
        for name, value in values.items()
        if value not in (None, "")
    }


def _with_pauses(exporter: Any, endpoint: str, clock: Clock) -> Any:
    """Wraps the exporter so that it pauses for a while after a failure."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class PausingExporter(SpanExporter):
        _paused_until = float("-inf")

        def export(self, spans: Any) -> Any:
            if clock.monotonic() < self._paused_until:
                return SpanExportResult.FAILURE
            try:
                result = exporter.export(spans)
            except Exception:
                result = SpanExportResult.FAILURE
            if result is not SpanExportResult.SUCCESS:
                _log.warning("%s takes no spans; they are dropped for a while", endpoint)
                self._paused_until = clock.monotonic() + _SILENCE_S
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

        def force_flush(self, timeout_millis: int = 30_000) -> bool:
            return True

    return PausingExporter()
