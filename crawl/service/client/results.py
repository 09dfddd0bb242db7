"""What a service answers, as values.

A newer service may say more than this client knows: what is not named here is in `raw`, and a
state that it does not know is kept as it was said.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

Value = TypeVar("Value", bound=msgspec.Struct)


class JobState(StrEnum):
    """Where a URL that was submitted is."""

    QUEUED = "queued"
    JOINED = "joined"
    """Another job asks for the same URL already; both end together."""
    ANSWERED = "answered"
    """Known, and fresh enough: nothing is fetched."""
    REFUSED = "refused"
    FINISHED = "finished"


_UNDER_WAY = (JobState.QUEUED, JobState.JOINED)


class CrawlState(StrEnum):
    """Where the crawl of a site is."""

    RUNNING = "running"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    TIME_LIMIT = "time_limit"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """What a service knows of a URL."""

    url: str
    final_url: str = ""
    """Where its redirects ended; the URL itself where there were none."""
    status: int | str | None = None
    reason: str = ""
    """Why it is not a page."""
    code: int = 0
    """Of HTTP; 0 where nobody answered."""
    chain: tuple[Any, ...] = ()
    """Its redirects, hop by hop."""
    fetched_ms: int | None = None
    """When it was last asked for; milliseconds since 1970."""
    content_type: str | None = None
    truncated: str | None = None
    """Why its body is not whole, and so what is said of it: `length` or `time`."""
    title: str | None = None
    description: str | None = None
    canonical: str | None = None
    site_name: str | None = None
    type: str | None = None
    language: str | None = None
    charset: str | None = None
    image: Any = None
    markdown: str | None = None
    raw: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """All that the service said, by its own names."""


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that was submitted."""

    id: str | None = None
    """None where it was refused: nothing is to be waited for."""
    url: str = ""
    state: str = JobState.QUEUED
    reason: str | None = None
    page: Page | None = None
    raw: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether nothing more comes of it."""
        return self.state not in _UNDER_WAY


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """A page that a search found."""

    url: str
    title: str | None = None
    snippet: str | None = None
    score: float | None = None
    raw: Mapping[str, Any] = msgspec.field(default_factory=dict)


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """A URL is finished: what `events` tells."""

    job: str | None = None
    url: str = ""
    state: str = JobState.FINISHED
    reason: str | None = None
    chain: tuple[Any, ...] = ()
    status: int | str | None = None
    page: Page | None = None
    event_id: str = ""
    """To go on from here: `events(last_id=…)`."""
    raw: Mapping[str, Any] = msgspec.field(default_factory=dict)


class CrawlStatus(msgspec.Struct, frozen=True, kw_only=True):
    """How far the crawl of a site has come."""

    id: str
    state: str = CrawlState.RUNNING
    raw: Mapping[str, Any] = msgspec.field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        """Whether no page comes any more."""
        return self.state != CrawlState.RUNNING


def as_value(kind: type[Value], said: Any) -> Value:
    """The value of what a service said; msgspec.ValidationError where it is no such thing."""
    if not isinstance(said, dict):
        raise msgspec.ValidationError(f"Expected `object`, got `{type(said).__name__}`")
    plain = dict(said)
    if isinstance(page := plain.get("page"), dict) and kind is not Page:
        plain["page"] = _page_fields(page)
    elif kind is Page:
        plain = _page_fields(plain)
    if isinstance(plain.get("job"), dict):
        plain["job"] = plain["job"].get("id")
    plain["raw"] = said
    return msgspec.convert(plain, kind)


def _page_fields(said: dict[str, Any]) -> dict[str, Any]:
    """A page's fields, with those of its card, which is what it says of itself."""
    card = said.get("card")
    own = {name: value for name, value in said.items() if value is not None}
    return {
        "final_url": said.get("url", ""),
        **(card if isinstance(card, dict) else {}),
        **own,
        "raw": said,
    }
