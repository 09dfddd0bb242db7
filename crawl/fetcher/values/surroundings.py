"""What the fetcher asks of the rest of the crawler."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from crawl.clock import Clock
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.rules.redirect import why_refused


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Whom the engine asks what it does not know, and where its records go."""

    key_of: Callable[[str], str]
    """A host's queue: itself, its domain or its address."""
    emit: Callable[[FetchRecord], None]
    clock: Clock
    chance: random.Random
    followed: Callable[[FetchItem], None] = lambda item: None
    """Told of a redirect's target that is taken on, in the same breath as its record."""
    accepted: Callable[[str], tuple[str | None, str]] = lambda url: (url, "")
    """A redirect's target in normal form, or None and why it is dropped."""
    astray: Callable[[str, str], str] = why_refused
    """Why a redirect from one URL to another is dropped; empty where it is not."""
    admitted: Callable[[str], tuple[str | None, str]] | None = None
    """The same for a URL of the list, where these are looked at once more."""
    archive: Callable[[Content], None] | None = None
    """Where answers to requests for robots.txt go, if they are kept."""
    owns: Callable[[str], bool] = lambda key: True
    """Whether a server is this engine's to ask: another one may have it on its list, and
    neither would know of the other's requests."""
    elsewhere: Callable[[str], bool] = lambda key: False
    """Whether another engine certainly asks a server."""
    address_of: Callable[[str], str | None] | None = None
    """A host's address, where servers at one address must keep apart."""
    needs_time: Callable[[str], bool] = lambda host: False
    """Whether a host was once given up at the end of a fetch before its time was up."""
