"""The tables of a crawl, each defined once: the CrawlDb, what segments have, and what is known of
servers. Those that are made of them are in derived_tables.py.

`host` is derived from `url` but stored: as a sorted dictionary column it costs next to
nothing on disk, and reading it is eight times faster than cutting it out of the URL
again, which generate, statistics and every per-host cap would have to do.
"""

from __future__ import annotations

import pyarrow as pa

from crawl.model.table import METADATA, OUTLINKS, TIMESTAMP, Column, Table

CRAWLDB = Table(
    "crawldb",
    (
        Column("url", pa.string(), "the normalised URL; the key"),
        Column("host", pa.string(), "the URL's host, lower-case; decides the bucket"),
        Column("status", pa.int8(), "Nutch's status code"),
        Column("fetch_time", TIMESTAMP, "when the URL is due"),
        Column("modified_time", TIMESTAMP, "when the page last changed", required=False),
        Column("fetch_interval", pa.int32(), "seconds between fetches"),
        Column("retries", pa.int16(), "failed tries since the last good fetch"),
        Column("score", pa.float32(), "importance"),
        Column("signature", pa.binary(), "digest of the page", required=False),
        Column("metadata", METADATA, "everything else, by key"),
    ),
    key=("url",),
    bucket_by="host",
)

CRAWL_GENERATE = Table("crawl_generate", CRAWLDB.columns)
"""A fetch list: CrawlDb records as they were when generate selected them."""

CRAWL_FETCH = Table("crawl_fetch", CRAWLDB.columns)
"""What became of each URL of a fetch list: `fetch_time` is when it was fetched. Targets of
redirects that are left for a later round stand here too, as `linked`."""

CONTENT = Table(
    "content",
    (
        Column("url", pa.string(), "the URL that was asked"),
        Column("content", pa.binary(), "the body, unpacked"),
        Column("content_type", pa.string(), "as the server declares it"),
        Column("code", pa.int16(), "HTTP status code"),
        Column("fetch_time", TIMESTAMP, "when it was fetched"),
        Column("ip", pa.string(), "the address that answered"),
        Column("truncated", pa.string(), "why the body is not whole; empty for a whole one"),
        Column("version", pa.string(), "protocol version"),
        Column("cipher", pa.string(), "TLS cipher"),
        Column("headers", METADATA, "response headers by lower-case name"),
        Column("status", pa.int8(), "what the fetch made of it, Nutch's status code"),
        Column("metadata", METADATA, "what scoring wants to know when the page is parsed"),
        Column("request_headers", pa.binary(), "verbatim"),
        Column("response_headers", pa.binary(), "verbatim"),
    ),
)

PARSE_DATA = Table(
    "parse_data",
    (
        Column("url", pa.string(), "the page, or a document inside one"),
        Column("status", pa.string(), "how the parse ended: success, failed_timeout …"),
        Column("message", pa.string(), "of a failure, one line"),
        Column("title", pa.string(), "the title"),
        Column("mime_type", pa.string(), "as declared and sniffed"),
        Column("charset", pa.string(), "that the text was decoded from; empty for none"),
        Column("language", pa.string(), "ISO 639 code; empty where unknown"),
        Column("canonical", pa.string(), "the URL by which the page wants to be known"),
        Column("directives", pa.string(), "what it asks of robots: noindex nofollow …"),
        Column("signature", pa.binary(), "digest of the page", required=False),
        Column("fetch_time", TIMESTAMP, "when it was fetched"),
        Column("outlinks", OUTLINKS, "the links that were kept, in document order"),
        Column("metadata", METADATA, "everything else, by key"),
    ),
)

PARSE_TEXT = Table(
    "parse_text",
    (
        Column("url", pa.string(), "the page, or a document inside one"),
        Column("text", pa.string(), "all its visible text"),
        Column("main_text", pa.string(), "without menus and footers (HTML)", required=False),
    ),
)

CRAWL_PARSE = Table("crawl_parse", CRAWLDB.columns)
"""What a parse tells the CrawlDb: `linked` URLs, `signature`, `parse_metadata` and
`parse_failed` of pages, and `fetch_success` of documents inside pages."""

HOSTS = Table(
    "hosts",
    (
        Column("host", pa.string(), "lower-case; decides the bucket"),
        Column("reason", pa.string(), "why its URLs were last handed back"),
        Column("failures", pa.int32(), "rounds in a row in which it gave no page"),
        Column("wait_until", TIMESTAMP, "generate leaves its URLs out until then"),
        Column("since", TIMESTAMP, "when the first of these rounds failed"),
        Column("last", TIMESTAMP, "when it last failed"),
        Column("pages", pa.int32(), "new pages that were looked at for repeats"),
        Column("repeats", pa.int32(), "those of them with the signature"),
        Column("signature", pa.binary(), "that most of its new pages share", required=False),
        Column("slowed", pa.int32(), "rounds in a row whose new pages were all but the same"),
        Column("slow_until", TIMESTAMP, "generate takes none of its new URLs until then"),
        Column("said", pa.string(), "what it last answered, or how it failed to", required=False),
    ),
    key=("host",),
    bucket_by="host",
)
"""Beside each bucket of the CrawlDb: its hosts that are in trouble. Those that answer, and
with pages of their own, have no row."""

FETCH_HOSTS = Table(
    "fetch_hosts",
    (
        Column("host", pa.string(), "lower-case"),
        Column("reason", pa.string(), "why its URLs were handed back"),
        Column("at", TIMESTAMP, "when it last failed"),
        Column("until", TIMESTAMP, "until when it must not be asked"),
        Column("base_ms", pa.int64(), "the pause that is doubled with each round in vain"),
        Column("gave_up", pa.bool_(), "whether URLs were handed back"),
        Column("said", pa.string(), "what it last answered, or how it failed to", required=False),
    ),
)
"""What a fetch tells of hosts that failed it."""

ROBOTS = Table(
    "robots",
    (
        Column("authority", pa.string(), "scheme, host and port whose rules it has; the key"),
        Column("host", pa.string(), "its host; decides the bucket"),
        Column("asked_at", TIMESTAMP, "when the host was asked"),
        Column("expires_at", TIMESTAMP, "until when the answer counts"),
        Column("code", pa.int32(), "HTTP status; 0 where no answer came"),
        Column("url", pa.string(), "where redirects led"),
        Column("content", pa.binary(), "the bytes of a 2xx, as far as they are read"),
        Column("truncated", pa.string(), "why the body is not whole; empty for a whole one"),
        Column("message", pa.string(), "why no answer came"),
    ),
    key=("authority",),
    bucket_by="host",
)
"""The last answer of every authority to a request for its robots.txt: a cache, which the next
round reads instead of asking again."""

SERVERS = Table(
    "servers",
    (
        Column(
            "server",
            pa.string(),
            "key of its queue: a host, a domain, an address; `@` before"
            " an address that hosts share",
        ),
        Column("ready_at", TIMESTAMP, "it must not be asked before"),
        Column("failures", pa.int32(), "failures in a row"),
        Column("failures_until", TIMESTAMP, "until when another one is one more in a row"),
        Column("crawl_delay_s", pa.float64(), "the pause that its robots.txt asks for; 0: none"),
        Column("reason", pa.string(), "why it waits; empty for the usual pause"),
        Column("told_at", TIMESTAMP, "when a fetch told so"),
    ),
    key=("server",),
    bucket_by="server",
)
"""The pauses that servers are owed when a fetch ends, for whoever asks them next."""

SITEMAPS = Table(
    "sitemaps",
    (
        Column("host", pa.string(), "on whose behalf they were read; the key"),
        Column("asked_at", TIMESTAMP, "when `crawl sitemap` last asked"),
        Column("read", pa.int32(), "sitemaps that were read, indexes among them"),
        Column("failed", pa.int32(), "those that were asked for and could not be read"),
        Column("urls", pa.int64(), "URLs that they list, taken or not"),
        Column("trouble", pa.string(), "why the last of them failed; empty where none did"),
    ),
    key=("host",),
    bucket_by="host",
)
"""What became of each host's sitemaps when they were last asked for."""

CACHES = frozenset({ROBOTS.name, SERVERS.name, SITEMAPS.name})
"""Datasets that are learnt anew where they are lost: no fault in them stops a crawl."""
