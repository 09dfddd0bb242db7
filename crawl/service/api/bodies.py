"""What may be sent to the service: every body is one of these, checked before anything is done."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from crawl.config.quantities import Duration
from crawl.errors import UsageError
from crawl.service import request_faults
from crawl.service.intake.admission import MAX_URL
from crawl.service.request_faults import expecting, whole
from crawl.service.site_crawls.crawl_scope import ScopeWish
from crawl.service.site_crawls.values import MAX_SEEDS, CrawlLimits, CrawlWish
from crawl.service.values import Priority, Wish

MAX_URLS = 1000
"""Of one request."""
MAX_LOOKUP = 300
MAX_TEXT = 1_000_000
MAX_TAGS = 20
MAX_QUERY = 8192
"""Characters of a parameter of a request's address."""
_MAX_AGE_S = 10 * 365 * 86_400.0
_WHOLE: dict[str, Any] = {"extra_json_schema": {"type": "integer"}}
"""A whole number, which JSON may write as 5.0 too."""
_SECONDS = Duration("s", 0.0)
AGE_PATTERN = whole(r"[0-9]{1,9}(\.[0-9]{1,6})?(ms|s|min|h|d)?")
_AGE = re.compile(AGE_PATTERN, re.ASCII)
_NO_CONTROLS = r"^(?![\s\S]*[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069])"
"""Nothing that moves a terminal's cursor or the words that a person reads."""
_SAID = " without control characters"

Url = Annotated[
    str,
    expecting(
        f"a URL of 1 to {2 * MAX_URL:,} characters",
        min_length=1,
        # some more than is looked at: what is too long is told so, with its reason
        max_length=2 * MAX_URL,
        description="A URL of http or https.",
        examples=["https://example.org/news/1"],
    ),
]
Tag = Annotated[
    str,
    expecting(
        f"a text of 1 to 100 characters{_SAID}",
        min_length=1,
        max_length=100,
        pattern=_NO_CONTROLS,
        examples=["newsroom"],
    ),
]
Word = Annotated[
    str,
    expecting(
        f"a text of 1 to 253 characters{_SAID}",
        min_length=1,
        max_length=253,
        pattern=_NO_CONTROLS,
    ),
]
"""Such as a host or the id of a crawl, by which listeners choose."""
Tags = Annotated[tuple[Tag, ...], Meta(max_length=MAX_TAGS)]
_AGE_MEANS = "How old an answer may be: seconds, or a text such as 15min. 0: fetch anew."
Age = (
    Annotated[float, expecting("seconds from 0 on", ge=0, description=_AGE_MEANS, examples=[900])]
    | Annotated[
        str,
        expecting(
            "a text such as 15min",
            pattern=AGE_PATTERN,
            description=_AGE_MEANS,
            examples=["15min"],
        ),
    ]
)
PriorityName = Annotated[
    Literal["high", "normal", "low"],
    expecting("high, normal or low", description="high, normal or low", examples=["high"]),
]

FormatName = Annotated[
    Literal["metadata", "markdown"], expecting("metadata or markdown", examples=["markdown"])
]
Formats = Annotated[
    tuple[FormatName, ...],
    Meta(
        max_length=2,
        description="What is wanted of a page: its metadata, which always come, and its main text"
        " as markdown.",
    ),
]
WantsImage = Annotated[
    bool,
    Meta(
        description="Whether the image that stands for a page is fetched, too, for its size and"
        " type; null: as the service is set."
    ),
]


class UrlWish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A URL with wishes of its own."""

    url: Url
    priority: PriorityName | None = None
    max_age: Age | None = None
    tags: Tags | None = None
    formats: Formats | None = None
    image: WantsImage | None = None


Urls = Annotated[tuple[Url | UrlWish, ...], Meta(min_length=1, max_length=MAX_URLS)]


class Submission(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One URL, several, or a text that has some: exactly one of the three."""

    url: Url | UnsetType = UNSET
    urls: (
        Annotated[tuple[Url | UrlWish, ...], Meta(min_length=1, max_length=MAX_URLS)] | UnsetType
    ) = UNSET
    text: Annotated[str, Meta(max_length=MAX_TEXT)] | UnsetType = UNSET
    priority: PriorityName = "normal"
    max_age: Age | None = None
    tags: Tags = ()
    formats: Formats = ("metadata",)
    image: WantsImage | None = None

    def wishes(self, owner: str, found_in_text: tuple[str, ...] = ()) -> list[Wish]:
        """What is asked for, in its order. Raises UsageError for what cannot be meant."""
        if sum(each is not UNSET for each in (self.url, self.urls, self.text)) != 1:
            raise UsageError("expected exactly one of url, urls and text")
        given: Iterable[str | UrlWish] = found_in_text
        if not isinstance(self.urls, UnsetType):
            given = self.urls
        elif not isinstance(self.url, UnsetType):
            given = (self.url,)
        return [self._wish(each, owner) for each in given]

    def _wish(self, each: str | UrlWish, owner: str) -> Wish:
        own = UrlWish(url=each) if isinstance(each, str) else each
        return Wish(
            url=own.url,
            priority=Priority.of_label(own.priority or self.priority),
            max_age_s=age_s(self.max_age if own.max_age is None else own.max_age),
            tags=self.tags if own.tags is None else own.tags,
            formats=_beside(self.formats if own.formats is None else own.formats),
            image=self.image if own.image is None else own.image,
            owner=owner,
        )


class Lookup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """URLs of which is asked what is known."""

    urls: Annotated[tuple[Url, ...], Meta(max_length=MAX_LOOKUP)]
    formats: Formats = ("metadata",)


class Fetch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A URL whose page is waited for."""

    url: Url
    max_age: Age | None = None
    priority: PriorityName = "high"
    tags: Tags = ()
    formats: Formats = ("metadata",)
    image: WantsImage | None = None

    def wish(self, owner: str) -> Wish:
        return Wish(
            url=self.url,
            priority=Priority.of_label(self.priority),
            max_age_s=age_s(self.max_age),
            tags=self.tags,
            formats=_beside(self.formats),
            image=self.image,
            owner=owner,
        )


class SiteScope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What belongs to the site; without a word: the hosts of the seeds."""

    hosts: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None
    prefix: str | tuple[str, ...] | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None

    def wish(self) -> ScopeWish:
        prefixes = (self.prefix,) if isinstance(self.prefix, str) else self.prefix or ()
        return ScopeWish(
            hosts=self.hosts or (),
            domains=self.domains or (),
            prefixes=prefixes,
            include=self.include or (),
            exclude=self.exclude or (),
        )


class SiteLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much of it is wanted."""

    pages: Annotated[float, Meta(ge=1, le=10_000_000, multiple_of=1, **_WHOLE)] = 1000
    depth: Annotated[float, Meta(ge=0, le=1000, multiple_of=1, **_WHOLE)] = 20
    seconds: Annotated[float, Meta(gt=0, le=_MAX_AGE_S)] | None = None
    per_host: Annotated[float, Meta(ge=1, le=10_000_000, multiple_of=1, **_WHOLE)] | None = None


class SiteWish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A site that is to be crawled at once."""

    seeds: Annotated[tuple[Url, ...], Meta(min_length=1, max_length=MAX_SEEDS)]
    scope: SiteScope = SiteScope()
    limits: SiteLimits = SiteLimits()
    formats: Formats = ("metadata",)
    image: WantsImage | None = None
    tags: Tags = ()

    def wish(self, owner: str) -> CrawlWish:
        limits = CrawlLimits(
            pages=int(self.limits.pages),
            depth=int(self.limits.depth),
            seconds=self.limits.seconds,
            per_host=None if self.limits.per_host is None else int(self.limits.per_host),
        )
        return CrawlWish(
            seeds=self.seeds,
            scope=self.scope.wish(),
            limits=limits,
            formats=self.formats,
            image=self.image,
            tags=self.tags,
            owner=owner,
        )


def _beside(formats: tuple[str, ...]) -> tuple[str, ...]:
    """What is wanted beside the metadata."""
    return tuple(dict.fromkeys(each for each in formats if each != "metadata"))


def age_s(value: float | str | None, what: str = "max_age") -> float | None:
    """Seconds of a number or of a text such as 15min."""
    if value is None:
        return None
    if not isinstance(value, str):
        return min(value, _MAX_AGE_S)
    if not _AGE.match(value):
        got = request_faults.shown(value)
        raise UsageError(f"{what}: expected seconds or a text such as 15min, got {got}")
    return min(_SECONDS.of_text(value), _MAX_AGE_S)


def read_body(raw: bytes, kind: type[Any], what: str = "the body") -> Any:
    """The body as one of these; UsageError, which names the field, what may stand there and what
    was given, for anything else. `what`: what it is called."""
    if not raw:
        raise UsageError(f"{what} is empty: expected an object")
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.ValidationError as error:
        given = request_faults.plain_values(raw)
        raise UsageError(request_faults.in_words(error, kind, what, given)) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        why = str(error).removeprefix("JSON is malformed: ")
        raise UsageError(f"{what} is no JSON: {why}") from None
