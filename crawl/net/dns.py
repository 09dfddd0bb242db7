"""Looks up the addresses of hosts, remembers them for a while, and refuses those that must not
be asked.

A protocol connects to the very address it got here and looks nothing up itself, so that no
second look-up can lead elsewhere than the checked one did (DNS rebinding).
"""

from __future__ import annotations

import socket
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from ipaddress import ip_address

from crawl.clock import SystemClock
from crawl.config import Config, duration, file, integer
from crawl.interfaces.protocol import FailureKind
from crawl.net.addresses import AddressPolicy
from crawl.urls.host_rules import nearest, rule_host
from crawl.urls.rule_lines import rule_lines

HOSTS_FILE = file(
    "http.resolver.hosts.file",
    "",
    "Addresses that need no look-up: lines of an address and hosts, *.domain for all below;"
    " empty: none.",
)
DNS_TTL = duration(
    "http.dns.ttl", 600, "How long the addresses of a host are remembered.", unit="s"
)
DNS_NEGATIVE_TTL = duration(
    "http.dns.negative.ttl", 30, "How long a failed look-up is remembered.", unit="s"
)
DNS_CACHE_SIZE = integer(
    "http.dns.cache.size", 50_000, "Hosts whose addresses are remembered.", minimum=1
)

MONOTONIC = SystemClock().monotonic
Timer = Callable[[], float]
"""Monotonic seconds."""
Resolve = Callable[[str], Iterable[str]]
"""The addresses of a host, best first; OSError where it has none."""


def system_addresses(host: str) -> list[str]:
    """What the machine's own resolver says."""
    flags = socket.AI_ADDRCONFIG
    entries = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


@dataclass(frozen=True, slots=True)
class HostLookup:
    """The addresses of a host, or why it has none that may be asked."""

    addresses: tuple[str, ...] = ()
    """Allowed ones, best first; empty where `kind` says why."""
    kind: FailureKind = FailureKind.OTHER
    message: str = ""


_RESOLVED_BY_PROXY = HostLookup(("",))
"""The result for a host that a proxy looks up."""


class HostsFile:
    """Addresses by host or by `*.domain`, as a file gives them."""

    def __init__(self, entries: Mapping[str, tuple[str, ...]]) -> None:
        self._entries = entries

    @classmethod
    def of(cls, config: Config) -> HostsFile:
        entries: dict[str, tuple[str, ...]] = {}
        for line in rule_lines(config, HOSTS_FILE) if config[HOSTS_FILE] else ():
            address, *names = line.text.split()
            try:
                address = str(ip_address(address))
            except ValueError:
                raise line.wrong(f"{address!r} is not an IP address") from None
            if not names:
                raise line.wrong("an address without a host")
            for name in names:
                host = rule_host(line, name)
                entries[host] = (*entries.get(host, ()), address)
        return cls(entries)

    def addresses(self, host: str) -> tuple[str, ...]:
        """Those of the host, or of the longest domain above it; empty where not listed."""
        return nearest(self._entries, host) or ()


@dataclass(frozen=True, slots=True)
class _CachedLookup:
    lookup: HostLookup
    expires_at: float


class HostResolver:
    """A bounded cache of look-ups. Safe to use from many threads; a host that several want at
    the same time is looked up by one of them."""

    def __init__(
        self, config: Config, resolve: Resolve = system_addresses, *, monotonic: Timer = MONOTONIC
    ) -> None:
        self._policy = AddressPolicy.of(config)
        self._hosts = HostsFile.of(config)
        self._resolve = resolve
        self._monotonic = monotonic
        self._ttl = config[DNS_TTL]
        self._negative_ttl = config[DNS_NEGATIVE_TTL]
        self._capacity = config[DNS_CACHE_SIZE]
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, _CachedLookup] = OrderedDict()
        """In the order of the look-ups; of a plain dict the first is found ever more slowly."""
        self._running: dict[str, Future[HostLookup]] = {}

    def locate(self, host: str) -> HostLookup:
        """Returns the addresses of a URL's host, IPv6 literals in brackets; never raises."""
        with self._lock:
            entry = self._cache.get(host)
            if entry is not None and entry.expires_at > self._monotonic():
                return entry.lookup
            running = self._running.get(host)
            mine = running is None
            if running is None:
                running = self._running[host] = Future()
        if mine:
            self._look_up(host, running)
        return running.result()

    def locate_cached(self, host: str) -> HostLookup | None:
        """What `locate` returns, if it need not look the host up; else None. Takes no lock: it is
        called for every page."""
        entry = self._cache.get(host)
        if entry is not None and entry.expires_at > self._monotonic():
            return entry.lookup
        if host in self._running or not self._without_lookup(host):
            return None
        return self.locate(host)

    def proxied_lookup(self, host: str) -> HostLookup:
        """Whether a proxy may be asked for a host: it looks the host up itself, so that only the
        name can be checked. The result has no real address."""
        refused = self._policy.name_refusal(host)
        if refused is None:
            return _RESOLVED_BY_PROXY
        return HostLookup((), FailureKind.ADDRESS_REFUSED, refused)

    def demote(self, host: str, address: str) -> None:
        """Puts an address last to which no connection came about: another is tried next."""
        with self._lock:
            entry = self._cache.get(host)
            if entry is None or len(entry.lookup.addresses) < 2:
                return
            others = tuple(each for each in entry.lookup.addresses if each != address)
            self._cache[host] = _CachedLookup(HostLookup((*others, address)), entry.expires_at)

    def _look_up(self, host: str, running: Future[HostLookup]) -> None:
        located = HostLookup(kind=FailureKind.UNKNOWN_HOST, message=f"{host} was not looked up")
        try:
            located = self._checked_lookup(host)
        finally:
            ttl = self._ttl if located.addresses else self._negative_ttl
            with self._lock:
                self._cache.pop(host, None)  # the newest is the last to be forgotten
                self._cache[host] = _CachedLookup(located, self._monotonic() + ttl)
                while len(self._cache) > self._capacity:
                    self._cache.popitem(last=False)
                del self._running[host]
            running.set_result(located)

    def _checked_lookup(self, host: str) -> HostLookup:
        try:
            addresses = self._addresses(host)
        except (OSError, UnicodeError) as error:  # UnicodeError: a label too long for IDNA
            reason = getattr(error, "strerror", None) or str(error)
            return HostLookup((), FailureKind.UNKNOWN_HOST, f"{host}: {reason}")
        refusals = {address: self._policy.refusal(address) for address in addresses}
        allowed = tuple(address for address in addresses if refusals[address] is None)
        if allowed:
            return HostLookup(allowed)
        if not addresses:
            return HostLookup((), FailureKind.UNKNOWN_HOST, f"{host} has no address")
        return HostLookup((), FailureKind.ADDRESS_REFUSED, f"{host}: {refusals[addresses[0]]}")

    def _addresses(self, host: str) -> tuple[str, ...]:
        if not host:  # of a file: URL
            return ()
        return self._without_lookup(host) or tuple(self._resolve(host.removesuffix(".")))

    def _without_lookup(self, host: str) -> tuple[str, ...]:
        """What needs no look-up: the host is an address, or the hosts file has it."""
        literal = host.removeprefix("[").removesuffix("]")
        try:
            return (str(ip_address(literal)),)
        except ValueError:
            return self._hosts.addresses(host)
