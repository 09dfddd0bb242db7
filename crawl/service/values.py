"""What is asked of the service, and what it knows of a URL: plain values, which the stores keep as
MessagePack and the API shows as JSON.

    Wish     a URL that somebody wants to have fetched, as it was said
    Job      a wish that was taken on; it waits in the queue, which keeps it until it is finished
    Hop      one answer on the way from a job's URL to its page
    Page     what is known of a URL: one row of the metadata store
    Finished what became of a job, as listeners are told
"""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any

import msgspec

from crawl.model.status import Status


class Priority(IntEnum):
    """Whose URLs are fetched first where several wait; each class has a bound of its own."""

    HIGH = 0
    NORMAL = 1
    LOW = 2

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def of_label(cls, label: str) -> Priority:
        """ValueError where there is none of that name."""
        try:
            return cls[label.upper()]
        except KeyError:
            expected = ", ".join(each.label for each in cls)
            raise ValueError(f"expected one of {expected}, got {label[:40]!r}") from None


class JobState(StrEnum):
    """Where a job is; the last three are ends."""

    QUEUED = "queued"
    JOINED = "joined"
    """Another job fetches the same URL: both end with its answer."""
    ANSWERED = "answered"
    """By what was known already, and is fresh enough."""
    REFUSED = "refused"
    """Not taken on, or not fetched: by a rule, which `reason` names."""
    FINISHED = "finished"
    """Fetched: the page, or what the server said instead."""

    @property
    def is_end(self) -> bool:
        return self not in (JobState.QUEUED, JobState.JOINED)


class Wish(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A URL that somebody wants to have fetched."""

    url: str
    priority: Priority = Priority.NORMAL
    max_age_s: float | None = None
    """How old an answer may be; None: as the domain's window says. 0: it is fetched anew."""
    tags: tuple[str, ...] = ()
    """Words of the submitter, by which listeners choose."""
    owner: str = ""
    """The id of the API key; empty where none was needed."""
    crawl: str = ""
    """The site crawl that it belongs to."""
    depth: int = 0
    """Links from a seed of that crawl."""
    formats: tuple[str, ...] = ()
    """What is wanted beside the page's metadata: `markdown`."""
    image: bool | None = None
    """Whether the image that stands for the page is fetched, too; None: as the service is set."""

    @property
    def wants_markdown(self) -> bool:
        return "markdown" in self.formats


class Hop(msgspec.Struct, frozen=True, array_like=True):
    """One answer on the way to a page."""

    url: str
    status: int
    """Of the fetch (crawl/model/status.py)."""
    code: int = 0
    at_ms: int = 0


class Job(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A wish that was taken on."""

    id: str
    wish: Wish
    url: str
    """In normal form; that of the next hop once a redirect was met."""
    submitted_ms: int
    hops: tuple[Hop, ...] = ()
    """The redirects that led from the wish's URL to `url`."""
    tries: int = 0
    """How often the URL was asked for in vain, and may be asked for again."""
    image_of: str = ""
    """The page that `url` is the image of: the page is there, and the job ends with its image."""
    image_hops: int = 0
    """Redirects that led to the image."""


class Timings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How long a page took, by stage, in milliseconds, as far as it is known when the page is
    stored; None where a stage did not take place. The stages follow each other."""

    queue: float | None = None
    """From the submission, or the redirect that led here, until its host was looked up, without the
    wait for robots.txt: the queue of the service and the pause of the server."""
    robots: float | None = None
    dns: float | None = None
    connect: float | None = None
    first_byte: float | None = None
    body: float | None = None
    parse: float | None = None
    """Of the pages that were parsed together."""


class FetchedImage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an image turned out to be."""

    url: str
    status: int = 0
    """Of the last fetch; 0 where it was not asked for."""
    code: int = 0
    reason: str = ""
    """Why it is not known."""
    type: str = ""
    """MIME type, by its first bytes."""
    width: int = 0
    """Pixels, as its first bytes tell; 0 where they do not."""
    height: int = 0
    size: int = 0
    """Bytes, as far as it was fetched."""
    fetched_ms: int = 0


class Page(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a URL."""

    url: str
    status: int
    """Of the last fetch (crawl/model/status.py)."""
    reason: str = ""
    """Why it is not a page: the protocol's status in words, or a rule's name."""
    code: int = 0
    """Of HTTP; 0 where nobody answered."""
    fetched_ms: int = 0
    """When it was last asked for; a page that did not change counts as fetched anew."""
    changed_ms: int = 0
    """When its content was last seen to change."""
    fetches: int = 1
    redirect: str = ""
    """Where it leads, for a redirect; the page is that URL's."""
    content_type: str = ""
    size: int = 0
    """Bytes of the body, as far as it was fetched."""
    truncated: str = ""
    """Why the body is not whole, and so what is said of its content: `length`, where it is longer
    than `http.content.limit`, or `time`; empty for a whole one."""
    signature: str = ""
    """Of the content, in hexadecimal digits."""
    etag: str = ""
    last_modified: str = ""
    card: bytes = b""
    """What the page says of itself, as JSON (crawl/parsing/card)."""
    markdown: str | None = None
    """Its main text, cut at `service.markdown.size`; None where nobody asked for it, empty where
    there is none."""
    image: FetchedImage | None = None
    """The image that stands for the page, where that was fetched; of an image, the image."""
    segment: str = ""
    """Where its content lies."""
    parse: str = ""
    """Why there is nothing of its content; empty where it was parsed."""
    timings: Timings | None = None

    @property
    def is_redirect(self) -> bool:
        return self.status in (Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)

    @property
    def is_page(self) -> bool:
        return self.status in (Status.FETCH_SUCCESS, Status.FETCH_NOTMODIFIED)


class Finished(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of a job."""

    job: str
    wish: Wish
    state: JobState
    submitted_ms: int
    finished_ms: int
    url: str
    """The URL that answered in the end."""
    hops: tuple[Hop, ...] = ()
    """All answers but the last."""
    reason: str = ""
    page: Page | None = None


_pack = msgspec.msgpack.Encoder().encode
_unpack_page = msgspec.msgpack.Decoder(Page).decode
_unpack_job = msgspec.msgpack.Decoder(Job).decode


def packed(value: Page | Job | Finished) -> bytes:
    """As a store or a queue keeps it."""
    return _pack(value)


def page_of(raw: bytes) -> Page:
    """Raises ValueError for what is none; unknown fields, of a later release, are passed over."""
    return _unpack_page(raw)


def job_of(raw: bytes) -> Job:
    """The same of a job."""
    return _unpack_job(raw)


def as_json(value: Any) -> bytes:
    """For listeners and answers."""
    return msgspec.json.encode(value)
