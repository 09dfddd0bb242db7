"""The tables that are made of segments and the CrawlDb, and can be made anew: graphs, HostDb,
LinkDb and the index's ledger."""

from __future__ import annotations

import pyarrow as pa

from crawl.model.table import SKETCH_BINS, SKETCH_COUNTS, TIMESTAMP, URLS, Column, Table

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
        Column("failures", pa.int32(), "rounds in a row in which it gave no page"),
        Column("trouble", pa.string(), "why; empty where it answers"),
        Column("wait_until", TIMESTAMP, "generate leaves it out until then", required=False),
        Column("dns_state", pa.string(), "resolved, failed, or empty where nobody asked"),
        Column("robots_code", pa.int32(), "of its robots.txt; 0: no answer came", required=False),
        Column("robots_asked_at", TIMESTAMP, "when that was", required=False),
        Column("robots_sitemaps", pa.int32(), "sitemaps that it names"),
        Column("sitemaps_asked_at", TIMESTAMP, "when `crawl sitemap` last asked", False),
        Column("sitemaps_read", pa.int32(), "sitemaps that were read then", False),
        Column("sitemaps_failed", pa.int32(), "those that could not be read", False),
        Column("sitemaps_urls", pa.int64(), "URLs that they list, taken or not", False),
        Column("sitemaps_trouble", pa.string(), "why the last failed; empty: none did", False),
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
        Column("segment", pa.string(), "where the link was found; CRAWL/SEGMENT if merged"),
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
        Column("segment", pa.string(), "where its parse lies; empty where nobody knows"),
    ),
    key=("writer", "url"),
    bucket_by="host",
)
"""The ledger of the index: which documents each index writer has. A bucket is a shard."""

INDEX_KEPT_OUT = Table(
    "index_kept_out",
    (
        Column("url", pa.string(), "the page; the key"),
        Column("host", pa.string(), "its host; decides the bucket"),
        Column("version", pa.int64(), "of the fetch that told so, or of the document deleted"),
        Column("segment", pa.string(), "where its parse lies"),
    ),
    key=("url",),
    bucket_by="host",
)
"""Attached to the ledger: the pages that only their state in the CrawlDb keeps out of the index."""

ATTACHED = {
    table.name: table
    for table in (
        *(WEBGRAPH_OUTLINKS, WEBGRAPH_EDGES, WEBGRAPH_SCORES),
        *(HOSTGRAPH_EDGES, INDEX_KEPT_OUT),
    )
}
"""Tables that are published together with another one."""

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
