"""What the engine asks of the rest of the crawler, as callbacks."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from dataclasses import dataclass

from crawl.clock import Clock
from crawl.config import Config
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.settings import FETCHER_QUEUE_MODE
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.net.dns import HostResolver
from crawl.robots.rules import RobotRules
from crawl.robots.stored import StoredAnswer
from crawl.rules.redirect import why_refused
from crawl.urls.partition import Partitioner, PartitionMode


@dataclass(frozen=True, slots=True)
class KnownServer:
    """What is known of a server that other engines asked before: its pause and failures, in the
    engine's own time."""

    ready_at: float
    """Monotonic: no request may start before; it may be over."""
    exceptions: int = 0
    crawl_delay_s: float = 0.0
    """That its robots.txt asked for; 0 for none."""
    wait_reason: str = ""


@dataclass(frozen=True, slots=True)
class EngineHooks:
    """The decisions that the engine leaves to its caller. What it brings out goes to its
    `OutputPort` (output_port.py)."""

    key_of: Callable[[str], str]
    """Returns the key of a host's queue: the host itself, its domain or its address."""
    clock: Clock
    rng: random.Random
    accept_target: Callable[[str], tuple[str | None, str]] = lambda url: (url, "")
    """Returns a redirect's target in normal form, or None and why it is dropped."""
    why_redirect_dropped: Callable[[str, str], str] = why_refused
    """Returns why a redirect from one URL to another is dropped; empty where it is followed."""
    accept_listed: Callable[[str], tuple[str | None, str]] | None = None
    """Does the same as `accept_target` for a URL of the fetch list; None where the list is
    taken as it is."""
    is_fetched: Callable[[str], bool] = lambda url: False
    """Whether a URL has a record of a task before this one."""
    owns_server: Callable[[str], bool] = lambda key: True
    """Whether a server is this engine's to ask. Another part may have it on its list, and
    neither engine would know of the other's requests."""
    is_other_parts_server: Callable[[str], bool] = lambda key: False
    """Whether another part certainly asks a server."""
    is_slow_host: Callable[[str], bool] = lambda host: False
    """Whether a host was given up at the end of an earlier fetch before its time was up."""
    address_of: Callable[[str], str | None] | None = None
    """Returns a host's address, where hosts at one address must keep a distance."""
    known_robots: Callable[[str], StoredAnswer | None] | None = None
    """Returns the answer for an authority's robots.txt that another fetch got and that still
    counts, and hands it out once."""
    robots_redirect_of: Callable[[str], str] = lambda authority: ""
    """Returns where another engine saw an authority's robots.txt redirect to; empty where none
    did."""
    known_server: Callable[[str], KnownServer | None] | None = None
    """Returns the pause that a server, or `@` and an address, is owed for requests of another
    fetch, and hands it out once."""
    why_left_out: Callable[[str, RobotRules], str] | None = None
    """Called with a URL and the rules that it is under before it is asked for, also where they
    forbid it; returns why it is not to be asked for, or an empty text."""
    on_returned: Callable[[FetchItem, str], None] | None = None
    """Told of every page that is given back without a record, and why. Its `datum` is the very
    object that the URL came with, which tells apart one that was fed twice. Called under the
    driver's lock: it must be quick, and wait for nothing."""
    may_send: Callable[[FetchItem], bool | str] | None = None
    """Asked immediately before each request is sent, robots.txt included, by the thread that sends
    it; where the protocol can, once more when a connection is made. True and nothing else
    lets it go; False, or a text that says why, and nobody is asked: the URL is given back. An
    owner whose lease may have ended while its process stood still compares the clock here,
    and not when the request was chosen. It must be quick, and wait for nothing."""


def address_lookup(resolver: HostResolver) -> Callable[[str], str | None]:
    """A function that returns the first address of a host; None where it has none."""
    return lambda host: next(iter(resolver.locate(host).addresses), None)


def queue_keys(config: Config, address_of: Callable[[str], str | None]) -> Callable[[str], str]:
    """A function that returns the key of a host's queue, by `fetcher.queue.mode`."""
    mode = PartitionMode(config[FETCHER_QUEUE_MODE])
    if mode is PartitionMode.BY_HOST:
        return str
    partitioner = Partitioner(mode, address_of)
    return lambda host: partitioner.key_of_host(host).key


def url_acceptance(
    normalizers: NormalizerChain | None, filters: FilterChain | None, fetched: Collection[str] = ()
) -> Callable[[str], tuple[str | None, str]]:
    """A function that returns a URL in normal form; or None, and why it is not wanted."""

    def accept(url: str) -> tuple[str | None, str]:
        normal = url if normalizers is None else normalizers.normalize(url)
        if normal is None:
            return None, "malformed"
        if normal in fetched:
            return None, "already_fetched"  # by a task before this one
        rejected = None if filters is None else filters.rejection(normal)
        return (normal, "") if rejected is None else (None, f"filtered.{rejected[0]}")

    return accept
