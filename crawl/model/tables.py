"""Every stored table, defined once: rendered as Arrow schema and as Spark DDL.

`host` is derived from `url` but stored: as a sorted dictionary column it costs next to
nothing on disk, and reading it is eight times faster than cutting it out of the URL
again, which generate, statistics and every per-host cap would have to do.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

TIMESTAMP = pa.timestamp("ms", tz="UTC")
METADATA = pa.map_(pa.string(), pa.string())
OUTLINKS = pa.list_(
    pa.struct(
        [pa.field(name, pa.string(), nullable=False) for name in ("url", "anchor", "rel", "tag")]
    )
)
URLS = pa.list_(pa.string())

SKETCH_BINS = pa.list_(pa.int16())
SKETCH_COUNTS = pa.list_(pa.int64())
"""Of a sketch (crawl/model/sketches.py): its bins, and how many values are in each."""

SPARK_TYPES: dict[pa.DataType, str] = {
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    TIMESTAMP: "TIMESTAMP",
    METADATA: "MAP<STRING, STRING>",
    URLS: "ARRAY<STRING>",
    SKETCH_BINS: "ARRAY<SMALLINT>",
    SKETCH_COUNTS: "ARRAY<BIGINT>",
    OUTLINKS: "ARRAY<STRUCT<{}>>".format(
        ", ".join(f"{name}: STRING NOT NULL" for name in ("url", "anchor", "rel", "tag"))
    ),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column and what it means."""

    name: str
    type: pa.DataType
    about: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """One stored table."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    """The columns that name a row and by which the rows of a bucket are sorted; the first is
    the one by which a row is looked up. None where the table is no dataset of buckets."""
    bucket_by: str = ""
    """The column whose value decides the bucket of a row."""

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def schema(self) -> pa.Schema:
        return pa.schema(
            [pa.field(column.name, column.type, not column.required) for column in self.columns]
        )

    @property
    def spark_ddl(self) -> str:
        return ", ".join(
            f"{column.name} {SPARK_TYPES[column.type]}" + (" NOT NULL" if column.required else "")
            for column in self.columns
        )


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
        Column("main_text", pa.string(), "without boilerplate, where asked for", required=False),
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
        Column("failures", pa.int32(), "rounds in a row in which it answered nothing"),
        Column("wait_until", TIMESTAMP, "generate leaves its URLs out until then"),
        Column("since", TIMESTAMP, "when the first of these rounds failed"),
        Column("last", TIMESTAMP, "when it last failed"),
        Column("pages", pa.int32(), "new pages that were looked at for repeats"),
        Column("repeats", pa.int32(), "those of them with the signature"),
        Column("signature", pa.binary(), "that most of its new pages share", required=False),
        Column("slowed", pa.int32(), "rounds in a row whose new pages were all but the same"),
        Column("slow_until", TIMESTAMP, "generate takes none of its new URLs until then"),
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

WEBGRAPH = Table(
    "webgraph",
    (
        Column("url", pa.string(), "the page; the key"),
        Column("host", pa.string(), "its host, lower-case; decides the bucket"),
        Column("inlinks", pa.int32(), "how many pages link to it"),
        Column("outlinks", pa.int32(), "how many pages it links to"),
    ),
    key=("url",),
    bucket_by="host",
)
"""The nodes of the link graph: pages that link, or are linked to. The number of a node is its
place: how many rows lie before it in the snapshot's files, in the manifest's order."""

WEBGRAPH_OUTLINKS = Table(
    "webgraph_outlinks",
    (
        Column("url", pa.string(), "the page that links; the key"),
        Column("host", pa.string(), "its host; decides the bucket"),
        Column("fetch_time", TIMESTAMP, "when the page was fetched that has these links"),
        Column("outlinks", URLS, "the pages that it links to, as far as they count"),
    ),
    key=("url",),
    bucket_by="host",
)
"""Attached to the nodes: what the next segments are merged into."""

WEBGRAPH_EDGES = Table(
    "webgraph_edges",
    (
        Column("destination", pa.int64(), "the number of the node that is linked to"),
        Column("source", pa.int64(), "the number of the node that links"),
        Column("limited", pa.bool_(), "LinkRank leaves it out: another of its site counts"),
    ),
    key=("destination", "source"),
)
"""Attached to the nodes, a file for each of theirs that is linked to: `bucket` of a file is the
place of the nodes' file among them."""

WEBGRAPH_SCORES = Table(
    "webgraph_scores",
    (
        Column("node", pa.int64(), "the number of the node"),
        Column("score", pa.float64(), "what the last analysis made of it"),
    ),
    key=("node",),
)
"""Attached to the nodes, a file beside each of theirs, row by row."""

HOSTGRAPH_COLUMNS = (
    Column("host_rev", pa.string(), "the name with its labels backwards: org.example; the key"),
    Column("host", pa.string(), "the host, or the registered domain"),
    Column("pages", pa.int64(), "its pages in the link graph"),
    Column("hosts", pa.int64(), "its hosts; 1 where it is one"),
    Column("inlinks", pa.int64(), "how many others link to it"),
    Column("outlinks", pa.int64(), "how many others it links to"),
    Column("harmonic", pa.float64(), "harmonic centrality: the sum of 1 / distance to it"),
    Column("harmonic_pos", pa.int64(), "its place by harmonic centrality, from 1"),
    Column("pagerank", pa.float64(), "PageRank; all of them add up to 1"),
    Column("pagerank_pos", pa.int64(), "its place by PageRank, from 1"),
)
HOSTGRAPH = Table("hostgraph", HOSTGRAPH_COLUMNS, key=("host_rev",))
"""The graph of hosts: those of the link graph's pages. The files are in the order of the key one
behind the other, a bucket each, so that a host's number is its place among all names."""

DOMAINGRAPH = Table("domaingraph", HOSTGRAPH_COLUMNS, key=("host_rev",))
"""The same for registered domains."""

HOSTGRAPH_EDGES = Table(
    "hostgraph_edges",
    (
        Column("destination", pa.int64(), "the number of the host that is linked to"),
        Column("source", pa.int64(), "the number of the host that links"),
        Column("pages", pa.int64(), "how many links of pages it stands for"),
    ),
    key=("destination", "source"),
)
"""Attached to the hosts, a file for each of theirs that is linked to."""

ATTACHED = {
    table.name: table
    for table in (WEBGRAPH_OUTLINKS, WEBGRAPH_EDGES, WEBGRAPH_SCORES, HOSTGRAPH_EDGES)
}
"""Tables that are published together with another one."""
HOSTDB = Table(
    "hostdb",
    (
        Column("host", pa.string(), "lower-case; the key, and decides the bucket"),
        Column("urls", pa.int64(), "its URLs in the CrawlDb; of these:"),
        Column("unfetched", pa.int64(), "db_unfetched"),
        Column("fetched", pa.int64(), "db_fetched"),
        Column("gone", pa.int64(), "db_gone"),
        Column("redir_temp", pa.int64(), "db_redir_temp"),
        Column("redir_perm", pa.int64(), "db_redir_perm"),
        Column("not_modified", pa.int64(), "db_notmodified"),
        Column("duplicate", pa.int64(), "db_duplicate"),
        Column("orphan", pa.int64(), "db_orphan"),
        Column("parse_failed", pa.int64(), "db_parse_failed"),
        Column("connection_failures", pa.int64(), "URLs whose last tries failed (retries > 0)"),
        Column("pages", pa.int64(), "URLs with a signature"),
        Column("distinct_pages", pa.int64(), "different signatures among them"),
        Column("duplicates_share", pa.float64(), "1 - distinct_pages / pages; 0 without pages"),
        Column("homepage", pa.string(), "its root URL, once that was fetched", required=False),
        Column("requests", pa.int64(), "pages asked for, in all segments counted; of these:"),
        Column("answered", pa.int64(), "with an HTTP answer, whatever its code"),
        Column("succeeded", pa.int64(), "fetch_success"),
        Column("unchanged", pa.int64(), "fetch_notmodified"),
        Column("redirected", pa.int64(), "fetch_redir_temp and fetch_redir_perm"),
        Column("refused", pa.int64(), "fetch_gone: 404, 403 and the like"),
        Column("failed", pa.int64(), "fetch_retry: time-outs, 5xx, broken answers"),
        Column("dns_failures", pa.int64(), "without an address: the name was unknown"),
        Column("robots_denied", pa.int64(), "pages that its robots.txt forbids; not asked for"),
        Column("response_ms_total", pa.int64(), "time of all answers together"),
        Column("response_ms_max", pa.int64(), "the longest answer"),
        Column("response_ms_p50", pa.float64(), "half of the answers took no longer", False),
        Column("response_ms_p75", pa.float64(), "three quarters", False),
        Column("response_ms_p95", pa.float64(), "95%", False),
        Column("response_ms_p99", pa.float64(), "99%", False),
        Column("contents", pa.int64(), "pages whose bytes were stored"),
        Column("bytes", pa.int64(), "of all of them, unpacked"),
        Column("size_max", pa.int64(), "bytes of the largest"),
        Column("size_p50", pa.float64(), "half of them were no larger", False),
        Column("size_p75", pa.float64(), "three quarters", False),
        Column("size_p95", pa.float64(), "95%", False),
        Column("size_p99", pa.float64(), "99%", False),
        Column("first_seen", TIMESTAMP, "when the crawl first knew of it, as far as is known"),
        Column("last_fetched", TIMESTAMP, "when it was last asked for a page", required=False),
        Column("last_seen", TIMESTAMP, "when it last answered one", required=False),
        Column("failures", pa.int32(), "rounds in a row in which it answered nothing"),
        Column("trouble", pa.string(), "why; empty where it answers"),
        Column("wait_until", TIMESTAMP, "generate leaves it out until then", required=False),
        Column("dns_state", pa.string(), "resolved, failed, or empty where nobody asked"),
        Column("robots_code", pa.int32(), "of its robots.txt; 0: no answer came", required=False),
        Column("robots_asked_at", TIMESTAMP, "when that was", required=False),
        Column("robots_sitemaps", pa.int32(), "sitemaps that it names"),
        Column("crawl_delay_s", pa.float64(), "the pause that it asks for; 0: none is known"),
        Column("response_ms_bins", SKETCH_BINS, "sketch of the answers' times (DDSketch)"),
        Column("response_ms_counts", SKETCH_COUNTS, "how many are in each bin"),
        Column("size_bins", SKETCH_BINS, "sketch of the sizes"),
        Column("size_counts", SKETCH_COUNTS, "how many are in each bin"),
    ),
    key=("host",),
    bucket_by="host",
)
"""What each host is like: what the CrawlDb says now, and what all fetches that were counted say
together."""
LINKDB = Table(
    "linkdb",
    (
        Column("url", pa.string(), "the page that is linked to"),
        Column("host", pa.string(), "its host, lower-case; decides the bucket"),
        Column("from_url", pa.string(), "a page that links to it"),
        Column("anchor", pa.string(), "the text of the link; empty for none"),
        Column("score", pa.float32(), "the linking page's score when it was fetched"),
        Column("segment", pa.string(), "the segment that the link was found in"),
    ),
    key=("url", "from_url"),
    bucket_by="host",
)
"""The pages that link to each URL, one row for each that does."""
INDEX = Table(
    "index",
    (
        Column("writer", pa.string(), "the index writer's id"),
        Column("url", pa.string(), "the document's"),
        Column("host", pa.string(), "its host; decides the bucket"),
        Column("version", pa.int64(), "when the page was fetched, in milliseconds since 1970"),
        Column("digest", pa.binary(), "of the document as the writer was given it"),
    ),
    key=("writer", "url"),
    bucket_by="host",
)
"""The ledger of the index: which documents each index writer has. A bucket is a shard."""

CACHES = frozenset({ROBOTS.name, SERVERS.name})
"""Datasets that are learnt anew where they are lost: no fault in them stops a crawl."""

MADE_BY = {
    LINKDB.name: "invertlinks",
    WEBGRAPH.name: "webgraph",
    HOSTDB.name: "updatehostdb",
    INDEX.name: "index",
    HOSTGRAPH.name: "hostgraph",
    DOMAINGRAPH.name: "hostgraph --group domain",
}
"""Datasets that are made of segments, or of another that is: by which command, also anew where they
are lost."""
