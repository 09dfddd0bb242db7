"""What a key may be allowed: the classes of requests, each of which has quotas of its own."""

from __future__ import annotations

from enum import StrEnum


class Scope(StrEnum):
    """One class of requests."""

    SUBMIT = "submit"
    FETCH = "fetch"
    LOOKUP = "lookup"
    SEARCH = "search"
    CRAWL = "crawl"
    WEBHOOKS = "webhooks"
    ADMIN = "admin"
    """Keys, queues and settings; includes all others."""
