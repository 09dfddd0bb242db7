"""Fetch items for tests of the queues, and how they are taken from them."""

from __future__ import annotations

import itertools

from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.values.item import FetchItem, Purpose
from tests.fetcher.small_web import DUE

_NUMBERS = itertools.count()


def item(host: str, key: str = "", purpose: Purpose = Purpose.PAGE) -> FetchItem:
    url = f"http://{host}/{next(_NUMBERS)}"
    return FetchItem(url, host, f"http://{host}", key or host, DUE, purpose)


def taken(queues: HostQueues, now: float) -> FetchItem:
    found = queues.take(now)
    assert isinstance(found, FetchItem)
    return found
