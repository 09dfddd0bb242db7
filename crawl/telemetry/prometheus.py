"""Lets the driver's figures out to Prometheus: it asks a port, or they are pushed or written.

prometheus-client, because it writes the format that all versions of Prometheus read; it is
used for that only, the figures are in a Meter. Two commands of one machine may run at
once, so a taken port gives way to the next, and a file tells Prometheus which it was.
"""

from __future__ import annotations

import errno
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

from crawl.errors import EnvironmentFault
from crawl.hints import install
from crawl.telemetry.discovery import announced, file_name_of
from crawl.telemetry.meter import Meter, Sample
from crawl.telemetry.metrics import CRAWL, Metric, MetricKind
from crawl.telemetry.repeating import repeating
from crawl.telemetry.settings import METRICS_PORT, METRICS_PUSHGATEWAY, METRICS_TEXTFILE, Settings

_MORE_PORTS = 100
_PUSH_TIMEOUT_S = 5.0

_log = logging.getLogger(__name__)


@contextmanager
def exported(meter: Meter, settings: Settings, crawl: str, command: str) -> Iterator[str]:
    """Shows the figures for as long as the block lasts; yields the address that can be
    scraped, if there is one. What is pushed or written is told a last time at the end."""
    require_extra(settings)
    from prometheus_client import CollectorRegistry, ProcessCollector

    def registry_of(figures: _Figures) -> CollectorRegistry:
        registry = CollectorRegistry()
        registry.register(figures)
        ProcessCollector(registry=registry)
        return registry

    registry = registry_of(_Figures(meter, crawl))
    tellers: list[Callable[[], None]] = []
    with ExitStack() as stack:
        address = ""
        if settings.port >= 0:
            asked = _Figures(meter, crawl)
            address = stack.enter_context(_served(registry_of(asked), settings))
            if settings.discovery:
                tellers.append(stack.enter_context(announced(address, settings)))
            stack.enter_context(_lingering(asked, settings))
        if settings.pushgateway:
            tellers.append(_pusher(registry, settings.pushgateway, crawl, command))
        if settings.textfile:
            tellers.append(_writer(registry, settings.textfile, crawl, command))
        if tellers:

            def tell() -> None:
                for teller in tellers:
                    teller()

            stack.enter_context(repeating(tell, settings.interval_s, "metrics"))
        yield f"http://{address}/metrics" if address else ""


def exposition(meter: Meter, crawl: str) -> bytes:
    """The figures as they are now, as Prometheus reads them, for whoever serves them itself."""
    from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

    registry = CollectorRegistry()
    registry.register(_Figures(meter, crawl))
    ProcessCollector(registry=registry)
    return generate_latest(registry)


def require_extra(settings: Settings) -> None:
    """EnvironmentFault where the package is not installed."""
    try:
        import prometheus_client  # noqa: F401
    except ModuleNotFoundError:
        switches = (
            (METRICS_PORT, settings.port >= 0),
            (METRICS_PUSHGATEWAY, settings.pushgateway),
            (METRICS_TEXTFILE, settings.textfile),
        )
        named = " and ".join(declared.name for declared, is_set in switches if is_set)
        raise EnvironmentFault(f"{named} needs prometheus-client: {install('metrics')}") from None


class _Figures:
    """A collector of prometheus-client over a Meter, asked at each scrape."""

    def __init__(self, meter: Meter, crawl: str) -> None:
        self._meter = meter
        self._crawl = crawl
        self.asked = threading.Event()

    def collect(self) -> Iterable[Any]:
        self.asked.set()
        return [self._family(metric, samples) for metric, samples in self._meter.samples()]

    def describe(self) -> Iterable[Any]:
        return ()

    def _family(self, metric: Metric, samples: list[Sample]) -> Any:
        from prometheus_client import core

        names = [CRAWL, *metric.labels]
        if metric.kind is MetricKind.HISTOGRAM:
            histogram = core.HistogramMetricFamily(metric.name, metric.about, labels=names)
            for sample in samples:
                assert sample.histogram is not None
                bounds = [*map(str, map(float, metric.bounds)), "+Inf"]
                counts = accumulate(sample.histogram.counts)
                histogram.add_metric(
                    [self._crawl, *sample.labels],
                    list(zip(bounds, counts, strict=True)),
                    sample.histogram.total,
                )
            return histogram
        kinds = {
            MetricKind.COUNTER: core.CounterMetricFamily,
            MetricKind.GAUGE: core.GaugeMetricFamily,
        }
        family: Any = kinds[metric.kind](metric.name, metric.about, labels=names)
        for sample in samples:
            family.add_metric([self._crawl, *sample.labels], sample.value)
        return family


@contextmanager
def _served(registry: Any, settings: Settings) -> Iterator[str]:
    from prometheus_client import start_http_server

    first_port = settings.port
    ports = range(first_port, min(first_port + _MORE_PORTS, 65536)) if first_port else range(1)
    server = None
    for port in ports:
        try:
            server, thread = start_http_server(port, settings.address, registry)
            break
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                where = f"{settings.address}:{port}"
                raise EnvironmentFault(
                    f"{METRICS_PORT.name}: cannot listen on {where}: {error.strerror or error}"
                ) from error
    if server is None:
        raise EnvironmentFault(
            f"{METRICS_PORT.name}: {first_port} and the {_MORE_PORTS - 1} ports after it are taken"
        )
    try:
        yield f"{_name_of(settings.address)}:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def _lingering(figures: _Figures, settings: Settings) -> Iterator[None]:
    """At the end waits for one more scrape: how a command ended is known only then."""

    def linger() -> None:
        if figures.asked.is_set() or settings.discovery:
            figures.asked.clear()
            figures.asked.wait(settings.linger_s)

    try:
        yield
    except Exception:
        linger()
        raise
    # who presses Ctrl-C does not want to wait
    linger()


def _name_of(address: str) -> str:
    """What others call the address that is listened on."""
    if address in ("0.0.0.0", "::", ""):
        return socket.gethostname()
    return f"[{address}]" if ":" in address else address


def _pusher(registry: Any, url: str, crawl: str, command: str) -> Callable[[], None]:
    """Adds to the group of this crawl and command: what other commands pushed stays."""
    from prometheus_client import pushadd_to_gateway

    told_off = False

    def push() -> None:
        nonlocal told_off
        try:
            pushadd_to_gateway(
                url,
                job="nutria",
                registry=registry,
                grouping_key={CRAWL: crawl, "command": command},
                timeout=_PUSH_TIMEOUT_S,
            )
            told_off = False
        except Exception as error:
            if not told_off:
                _log.warning("%s takes no metrics: %s", url, error)
            told_off = True

    return push


def _writer(registry: Any, folder: str, crawl: str, command: str) -> Callable[[], None]:
    from prometheus_client import write_to_textfile

    path = Path(folder) / f"nutria-{file_name_of(crawl)}-{file_name_of(command)}.prom"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_to_textfile(str(path), registry)
    except OSError as error:
        raise EnvironmentFault(
            f"{METRICS_TEXTFILE.name}: cannot write {path}: {error.strerror}"
        ) from error

    def write() -> None:
        try:
            write_to_textfile(str(path), registry)
        except OSError as error:
            _log.warning("%s cannot be written: %s", path, error)

    return write
