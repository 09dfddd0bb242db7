"""The properties of the realtime lane (`service.*`); those of politeness, robots.txt, addresses,
filters and parsers are the crawl's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from crawl.config import Config, boolean, duration, file, integer, size, text
from crawl.service.values import Priority

FRESH_WINDOW = duration(
    "service.fresh.window", 86_400.0, "For how long what is known of a page answers.", unit="s"
)
FRESH_FAILURES = duration(
    "service.fresh.failures",
    300.0,
    "The same of what is no page, such as a 404 or a server that does not answer; at most.",
    unit="s",
)
FRESH_FILE = file(
    "service.fresh.file", "fresh-windows.txt", "Windows by host or *.domain, one a line."
)
QUEUE_HIGH = integer(
    "service.queue.high",
    20_000,
    "Jobs of high priority that may wait; more are refused.",
    unit="URLs",
    minimum=1,
)
QUEUE_NORMAL = integer(
    "service.queue.normal", 100_000, "The same of normal priority.", unit="URLs", minimum=1
)
QUEUE_LOW = integer(
    "service.queue.low",
    1_000_000,
    "The same of low priority, to which links of sites belong.",
    unit="URLs",
    minimum=1,
)
QUEUE_HOST = integer(
    "service.queue.host",
    20_000,
    "Jobs of one host that may wait; those of site crawls are not bound by it.",
    unit="URLs",
    minimum=1,
)
REQUESTS = integer(
    "service.requests",
    512,
    "Requests under way at a time, of all servers; each server's own bound holds as well.",
    minimum=1,
    maximum=10_000,
)
LOOKUP_THREADS = integer(
    "service.lookup.threads",
    16,
    "Threads for requests that would hold up the others, such as the first to a host, which must be"
    " looked up.",
    minimum=1,
    maximum=1000,
)
TRIES = integer(
    "service.tries",
    3,
    "How often a URL is asked for whose server asks to come again (429, 503) or does not answer.",
    unit="times",
    minimum=1,
    maximum=100,
)
MAX_WAIT = duration(
    "service.max.wait",
    3600.0,
    "A job that would wait for longer than this for its server is given up, with the reason.",
    unit="s",
)
REDIRECTS = integer(
    "service.redirects",
    8,
    "Redirects that are followed, each as a request of its own host.",
    minimum=0,
    maximum=50,
)
QUERIES = boolean(
    "service.queries",
    True,
    "Take URLs with a query that somebody asks for, which the usual rules of urlfilter.regex leave"
    " out; links that are found on pages are under those rules as ever.",
)
RELATED_IMAGES = boolean(
    "service.related.images",
    False,
    "Fetch the image that stands for a page, too, for its size and type, where a request does not"
    " say whether to; the page's job ends when it has come.",
)
MARKDOWN_SIZE = size(
    "service.markdown.size",
    100_000,
    "Of a page's main text as Markdown so much is kept beside its metadata, where somebody asks for"
    " the format; 0: none.",
)
SEGMENT_SECONDS = duration(
    "service.segment.seconds",
    60.0,
    "A segment is closed, and may be taken by updatedb and index, when it is as old as this.",
    unit="s",
    minimum=1.0,
)
SEGMENT_BYTES = size(
    "service.segment.bytes", 512 << 20, "The same when its pages have so many bytes.", minimum=1
)
SEARCH_SECONDS = duration(
    "service.search.seconds", 5.0, "So often new pages appear in the search.", unit="s", minimum=0.1
)
IDLE = duration(
    "service.idle",
    300.0,
    "A server's queue that had nothing to do for this is retired, once its pauses are over.",
    unit="s",
    minimum=1.0,
)
FOLDER = text(
    "service.folder",
    "",
    "Where the service keeps its queue, its metadata and what is searched live: a folder on this"
    " machine; empty: CRAWL_DIR/service.",
)
MAX_BODY = size(
    "service.max.body", 4 << 20, "Bytes of a request's body; larger ones are refused.", minimum=1000
)
STORE = text(
    "service.store",
    "",
    "Where metadata is kept: lmdb:FOLDER, redis://…, cassandra://…; empty: lmdb in service.folder.",
)
ANSWERS_KEPT = duration(
    "service.answers.kept",
    86_400.0,
    "For how long what became of a job can be asked for.",
    unit="s",
)


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """How many jobs may wait."""

    by_priority: tuple[int, int, int]
    of_host: int

    @classmethod
    def of(cls, config: Config) -> QueueBounds:
        return cls(
            (config[QUEUE_HIGH], config[QUEUE_NORMAL], config[QUEUE_LOW]), config[QUEUE_HOST]
        )

    def of_priority(self, priority: Priority) -> int:
        return self.by_priority[priority]
