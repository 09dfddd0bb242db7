"""The active protocols, by scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crawl.clock import Clock
from crawl.config import Config, string_list
from crawl.interfaces.protocol import (
    Failure,
    FailureKind,
    FetchProtocol,
    Multiplexing,
    Request,
    Response,
    Transfers,
)
from crawl.interfaces.registry import ResolvedPlugin, resolve
from crawl.net.dns import HostResolver
from crawl.urls.parse import scheme_of

PLUGIN_PROTOCOL = string_list(
    "plugin.protocol", ("http",), "The protocols; of several that speak a scheme the first is used."
)


def resolved_protocols(config: Config) -> tuple[ResolvedPlugin, ...]:
    """The configured plugins, for executors to build."""
    names: tuple[str, ...] = config[PLUGIN_PROTOCOL]
    return resolve("protocol", names)


class Protocols:
    """Sends each request by the plugin that speaks its scheme."""

    def __init__(self, plugins: Sequence[ResolvedPlugin], config: Config) -> None:
        self._built: list[FetchProtocol] = [plugin.build(config) for plugin in plugins]
        self._by_scheme: dict[str, FetchProtocol] = {}
        for protocol in reversed(self._built):
            self._by_scheme |= dict.fromkeys(protocol.schemes, protocol)
        own = getattr(self._by_scheme.get("http"), "resolver", None)
        self.resolver = own if isinstance(own, HostResolver) else HostResolver(config)
        """The resolver of the web's protocol, so that no host is looked up a second time."""

    def fetch(self, request: Request) -> Response | Failure:
        scheme = scheme_of(request.url) or ""
        protocol = self._by_scheme.get(scheme)
        if protocol is None:
            return Failure(
                request.url, FailureKind.NOT_SUPPORTED, f"no active protocol speaks {scheme!r}"
            )
        return protocol.fetch(request)

    def transfers(self) -> Transfers | None:
        """A driver of many requests in one thread, where the web's protocol has one."""
        protocol = self._by_scheme.get("http")
        if protocol is not self._by_scheme.get("https"):
            return None
        return protocol.transfers() if isinstance(protocol, Multiplexing) else None

    def close(self) -> None:
        for protocol in self._built:
            protocol.close()


def ask(
    fetch: Callable[[Request], Response | Failure], request: Request, clock: Clock
) -> Response | Failure:
    """Sends a request. A protocol promises not to raise; one that does costs one URL, not the
    crawl."""
    refused = withheld(request)
    if refused is not None:
        return refused
    try:
        return fetch(request)
    except Exception as fault:
        text = f"{type(fault).__name__}: {fault}"
        return Failure(request.url, FailureKind.OTHER, text, sent=clock.monotonic())


def withheld(request: Request) -> Failure | None:
    """The failure of a request that must not be sent any more; None where it may be."""
    reason = "" if request.why_withheld is None else request.why_withheld()
    return Failure(request.url, FailureKind.WITHHELD, reason) if reason else None
