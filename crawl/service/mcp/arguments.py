"""What each tool is given. The JSON Schemas that agents are told are made from these types, and
calls are checked by them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from crawl.errors import UsageError
from crawl.service import request_faults
from crawl.service.api.bodies import MAX_LOOKUP, Age, Url
from crawl.service.request_faults import expecting, whole

MAX_WAIT_S = 60
MAX_CHARACTERS = 100_000
"""Of a page's text in one answer; the next ones are had by `start`."""
MAX_PAGES = 50
"""Of a site's crawl in one answer."""
_DEFAULT_CHARACTERS = 20_000
_MOST_SEEDS = 100
_MOST_PATTERNS = 100

Wait = Annotated[
    float,
    Meta(ge=0, le=MAX_WAIT_S, description="Seconds to wait before the answer says: not yet."),
]
Format = Annotated[
    Literal["markdown", "metadata"],
    Meta(
        description="markdown: with the main text, without menus and footers. metadata: title,"
        " description, dates and the like alone.",
    ),
]
Host = Annotated[
    str,
    expecting(
        "the name of a host or a domain, without scheme and path",
        pattern=whole(r"[A-Za-z0-9\u0080-\uffff._-]{1,253}"),
        description="The name of a host or a domain, without scheme and path.",
        examples=["example.org"],
    ),
]
Pattern = Annotated[str, Meta(min_length=1, max_length=500)]
CrawlId = Annotated[
    str,
    expecting(
        "the id of a crawl",
        pattern=whole("[A-Za-z0-9_-]{1,64}"),
        description="The id that crawl_site answered with.",
    ),
]
MaxCharacters = Annotated[
    int,
    Meta(
        ge=100,
        le=MAX_CHARACTERS,
        description="Characters of a page's text in this answer. What is longer is cut.",
    ),
]


class FetchArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What fetch is given."""

    url: Url
    wait: Wait = 20.0
    max_age: Age | None = None
    format: Format = "markdown"
    start: Annotated[
        int, Meta(ge=0, le=100_000_000, description="The first character of the text to show.")
    ] = 0
    max_characters: MaxCharacters = _DEFAULT_CHARACTERS


class LookupArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What lookup is given."""

    urls: Annotated[
        tuple[Url, ...],
        Meta(min_length=1, max_length=MAX_LOOKUP, description=f"Up to {MAX_LOOKUP} URLs."),
    ]


class SearchArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What search is given."""

    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=1000,
            description='Words; "a phrase"; -without; title:word, url:word, text:word.',
            examples=['open data "city council" -draft'],
        ),
    ]
    limit: Annotated[int, Meta(ge=1, le=100, description="How many pages.")] = 10
    offset: Annotated[int, Meta(ge=0, le=900, description="Pages to pass over.")] = 0
    site: Host | None = None
    language: (
        Annotated[
            str,
            expecting(
                "two or three letters, such as en",
                pattern=whole("[A-Za-z]{2,3}"),
                description="Such as en or de.",
            ),
        ]
        | None
    ) = None
    type: (
        Annotated[
            str,
            expecting(
                "a media type, such as text/html",
                pattern=whole(r"[A-Za-z0-9.+-]{1,60}/[A-Za-z0-9.+-]{1,100}"),
                description="A media type, such as text/html or application/pdf.",
            ),
        ]
        | None
    ) = None
    since: (
        Annotated[
            str,
            expecting(
                "a day such as 2026-01-31, or a time such as 30d",
                pattern=whole("[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,4}[hdwmy]"),
                description="Changed since a day, or within a time.",
                examples=["2026-01-31", "30d"],
            ),
        ]
        | None
    ) = None


class CrawlSiteArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What crawl_site is given."""

    seeds: Annotated[
        tuple[Url, ...],
        Meta(min_length=1, max_length=_MOST_SEEDS, description="Where to begin."),
    ]
    hosts: Annotated[
        tuple[Host, ...],
        Meta(max_length=_MOST_PATTERNS, description="Hosts to stay on."),
    ] = ()
    domains: Annotated[
        tuple[Host, ...],
        Meta(max_length=_MOST_PATTERNS, description="Stay in these domains, with all their hosts."),
    ] = ()
    prefix: Annotated[
        tuple[Url, ...],
        Meta(max_length=_MOST_PATTERNS, description="Only URLs that begin with one of these."),
    ] = ()
    include: Annotated[
        tuple[Pattern, ...],
        Meta(max_length=_MOST_PATTERNS, description="Only URLs in which one of these is found."),
    ] = ()
    exclude: Annotated[
        tuple[Pattern, ...],
        Meta(max_length=_MOST_PATTERNS, description="No URLs in which one of these is found."),
    ] = ()
    pages: Annotated[
        int, Meta(ge=1, le=10_000, description="URLs that are asked for at the most.")
    ] = 20
    depth: Annotated[int, Meta(ge=0, le=100, description="Links from a seed.")] = 3
    seconds: (
        Annotated[
            float, Meta(gt=0, le=86_400, description="The crawl is ended after so many seconds.")
        ]
        | None
    ) = None
    format: Format = "metadata"
    wait: Wait = 20.0
    max_characters: MaxCharacters = 2000


class CrawlStatusArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What crawl_status is given."""

    crawl: CrawlId
    after: Annotated[
        int,
        Meta(
            ge=0,
            le=10**11,
            description="Pages behind this number; `next_after` of the answer before.",
        ),
    ] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_PAGES, description="How many pages.")] = 20
    wait: Wait = 0.0
    max_characters: MaxCharacters = 2000


class CrawlCancelArguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What crawl_cancel is given."""

    crawl: CrawlId


Arguments = TypeVar("Arguments", bound=msgspec.Struct)


def read_arguments(given: Any, kind: type[Arguments]) -> Arguments:
    """The arguments of a call; UsageError, which names the argument, what it may be and what was
    given, for what they cannot be."""
    given = {} if given is None else given
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        what = "the arguments"
        raise UsageError(request_faults.in_words(error, kind, what, given)) from None
    except RecursionError:
        raise UsageError("the arguments are nested too deeply") from None


def schema_of(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    _, components = msgspec.json.schema_components([kind])
    schema: dict[str, Any] = components[kind.__name__]
    return {key: value for key, value in schema.items() if key not in ("title", "description")}
