"""What the engine asks of the rest of the crawler, as callbacks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from crawl.clock import Clock
from crawl.fetcher.values.known_server import KnownServer
from crawl.robots.rules import RobotRules
from crawl.robots.stored import StoredAnswer
from crawl.rules.redirect import why_refused


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
