"""The core's own keys, by phase: Nutch's names, meanings and defaults where Nutch has
one. A plugin declares the keys that only it reads as constants of its own module.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from crawl.config.property import (
    Property,
    boolean,
    choice,
    duration,
    integer,
    integer_or,
    interval,
    number,
    numbers,
    properties_in,
    size,
    string_list,
    text,
)
from crawl.model.status import DB_STATUSES

# --- the CrawlDb -----------------------------------------------------------------------
CRAWLDB_BUCKETS = integer(
    "crawldb.buckets", 16, "Buckets of a new CrawlDb.", minimum=1, maximum=65536
)
CRAWLDB_ROW_GROUP_SIZE = integer(
    "crawldb.row.group.size",
    65536,
    "Rows in a row group of a CrawlDb file: what reading one URL has to open.",
    unit="rows",
    minimum=1,
)
CRAWLDB_FILE_ROWS = integer(
    "crawldb.file.rows",
    4_000_000,
    "Most rows in one file of the CrawlDb: a bucket of more, such as that of a host with very many"
    " URLs, gets several files, each of which is a task's work.",
    unit="rows",
    minimum=1,
)
CRAWLDB_SNAPSHOTS_KEEP = integer(
    "crawldb.snapshots.keep",
    3,
    "How many snapshots stay for rollback, the current one included.",
    unit="snapshots",
    minimum=1,
)
DB_UPDATE_PURGE_404 = boolean(
    "db.update.purge.404", False, "Drop records of gone pages when the CrawlDb is written."
)
DB_UPDATE_PURGE_ORPHANS = boolean(
    "db.update.purge.orphans", False, "updatedb drops records of orphaned pages."
)
DB_UPDATE_ADDITIONS_ALLOWED = boolean(
    "db.update.additions.allowed",
    True,
    "updatedb takes in URLs that the CrawlDb does not know; else only known ones are updated.",
)
DB_UPDATE_MAX_INLINKS = integer(
    "db.update.max.inlinks",
    10000,
    "Most links to one URL that count for its score in an updatedb; the best are taken.",
    unit="links",
    minimum=1,
)
CRAWLDB_URL_FILTERS = boolean(
    "crawldb.url.filters", False, "updatedb filters all URLs, those in the CrawlDb included."
)
CRAWLDB_URL_NORMALIZERS = boolean(
    "crawldb.url.normalizers", False, "updatedb normalizes all URLs, those in the CrawlDb included."
)
DB_HOST_WAIT_MAX = duration(
    "db.host.wait.max",
    86400,
    "Longest time that generate leaves out a host which answers nothing; the time doubles with"
    " each round in vain. 0: no host is ever left out.",
    unit="s",
)
DB_HOST_SAME_PAGES = integer(
    "db.host.same.pages",
    50,
    "Of so many new pages of a host more than 90% are the same: its new URLs have to wait,"
    " for longer with each round of more of the same. 0: never.",
    unit="pages",
    minimum=0,
)
DB_HOST_SAME_PAGES_WAIT = duration(
    "db.host.same.pages.wait",
    3600,
    "The first such while; the longest is db.host.wait.max.",
    unit="s",
)
DB_STATS_SCORE_QUANTILES = numbers(
    "db.stats.score.quantiles",
    (0.01, 0.05, 0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99),
    "Quantiles of the score that readdb --stats shows.",
    minimum=0,
    maximum=1,
)

# --- schedule and scoring --------------------------------------------------------------
DB_FETCH_SCHEDULE_CLASS = text(
    "db.fetch.schedule.class", "default", "The schedule plugin, by name or as module:attr."
)
DB_FETCH_INTERVAL_DEFAULT = interval(
    "db.fetch.interval.default", 2592000, "How long until a page is fetched again."
)
DB_FETCH_INTERVAL_MAX = interval(
    "db.fetch.interval.max",
    7776000,
    "Longest time between fetches; after it a page is due whatever its state.",
)
DB_FETCH_RETRY_MAX = integer(
    "db.fetch.retry.max",
    3,
    "So many passing errors in a row make a page gone.",
    unit="tries",
    minimum=1,
    maximum=127,
)
SCORING_FILTER_ORDER = string_list(
    "scoring.filter.order", ("opic",), "The scoring plugins, in the order they are asked."
)

# --- inject ----------------------------------------------------------------------------
DB_SCORE_INJECTED = number("db.score.injected", 1.0, "Score of a seed that names none.")
DB_INJECTOR_OVERWRITE = boolean(
    "db.injector.overwrite", False, "A seed replaces the record that its URL already has."
)
DB_INJECTOR_UPDATE = boolean(
    "db.injector.update",
    False,
    "A seed's metadata, score and interval are added to the record that its URL already has.",
)
SEED_MAX_LINE = size(
    "seed.max.line",
    64 * 1024,
    "Longest seed line read; a longer one is counted as malformed.",
    minimum=1,
)

# --- sitemap ---------------------------------------------------------------------------
SITEMAP_MAX_HOSTS = integer(
    "sitemap.max.hosts",
    1000,
    "Hosts of the CrawlDb that one `crawl sitemap` asks for their sitemaps, those with the most"
    " URLs first; -1: all.",
    unit="hosts",
    minimum=-1,
)
SITEMAP_URL_DEFAULT_SITEMAP_XML = boolean(
    "sitemap.url.default.sitemap.xml",
    True,
    "Ask a host for /sitemap.xml where its robots.txt names no sitemap.",
)
SITEMAP_STRICT_PARSING = boolean(
    "sitemap.strict.parsing",
    True,
    "Take a URL only from a sitemap that may list it: in the same folder of its host or above, or"
    " named by its host's robots.txt.",
)
SITEMAP_URL_OVERWRITE_EXISTING = boolean(
    "sitemap.url.overwrite.existing",
    False,
    "A sitemap's priority and changefreq also change the score and the interval of known URLs.",
)
SITEMAP_REFETCH_MODIFIED = boolean(
    "sitemap.refetch.modified",
    True,
    "A known page whose lastmod is later than its last fetch is due at once.",
)
SITEMAP_URL_MEDIA = boolean(
    "sitemap.url.media", False, "Take the images and videos that sitemaps list, too."
)
SITEMAP_REDIR_MAX = integer(
    "sitemap.redir.max", 3, "Redirects of a sitemap that are followed.", minimum=0, maximum=50
)
SITEMAP_SIZE_MAX = size(
    "sitemap.size.max",
    52_428_800,
    "Longest sitemap, on the wire and unpacked; the rest is cut off.",
    minimum=1,
)
SITEMAP_MAX_DEPTH = integer(
    "sitemap.max.depth",
    3,
    "Sitemap indexes, and moves to other servers, that may lead to a sitemap.",
    minimum=0,
    maximum=20,
)
SITEMAP_MAX_SITEMAPS_PER_HOST = integer(
    "sitemap.max.sitemaps.per.host",
    500,
    "Sitemaps read on behalf of one host.",
    unit="sitemaps",
    minimum=1,
)
SITEMAP_MAX_URLS = integer(
    "sitemap.max.urls", 50_000, "Most entries read of one sitemap.", unit="URLs", minimum=1
)
SITEMAP_MAX_URLS_PER_HOST = integer(
    "sitemap.max.urls.per.host",
    1_000_000,
    "Most entries read on behalf of one host.",
    unit="URLs",
    minimum=1,
)
SITEMAP_MAX_CROSS_HOSTS = integer(
    "sitemap.max.cross.hosts",
    100,
    "Hosts that are asked for their robots.txt only because a sitemap of another host lists"
    " URLs of theirs.",
    unit="hosts",
    minimum=0,
)
SITEMAP_INTERVAL_MIN = interval(
    "sitemap.interval.min",
    86_400,
    "Shortest fetch interval that a changefreq, or refetch that a lastmod, can bring about.",
)

# --- generate --------------------------------------------------------------------------
CRAWL_ROUNDS_OVERLAP = boolean(
    "crawl.rounds.overlap",
    False,
    "crawl run parses, updates and generates while another list is fetched: in any number of"
    " rounds whose fetches ask for nothing beyond their lists.",
)
AUTO = "auto"
GENERATE_MAX_COUNT = integer_or(
    "generate.max.count",
    -1,
    (AUTO,),
    "Most URLs of one host or domain in a segment; 0 or less: no limit. auto: by the HostDb, fewer"
    " of a host that fails or repeats itself.",
    unit="URLs",
)
GENERATE_MAX_COUNT_AUTO = integer(
    "generate.max.count.auto",
    1000,
    "With generate.max.count=auto: most URLs of a host that answers and does not repeat itself.",
    unit="URLs",
    minimum=1,
)
GENERATE_MAX_COUNT_EXPR = text(
    "generate.max.count.expr",
    "",
    "Most URLs of one host in a segment, as Spark SQL over the HostDb's columns; NULL:"
    " generate.max.count, 0: none, negative: no limit.",
)
GENERATE_FETCH_DELAY_EXPR = text(
    "generate.fetch.delay.expr",
    "",
    "Pause in ms between two requests to a host, as Spark SQL over the HostDb's columns; it"
    " shortens neither fetcher.server.delay nor robots.txt's.",
)
GENERATE_COUNT_MODE = choice(
    "generate.count.mode", "host", ("host", "domain"), "What generate.max.count counts by."
)
GENERATE_UPDATE_CRAWLDB = boolean(
    "generate.update.crawldb",
    False,
    "Mark selected URLs in the CrawlDb, so that overlapping rounds never take one twice.",
)
GENERATE_MIN_SCORE = number("generate.min.score", 0.0, "Reject URLs whose sort value is below.")
GENERATE_MIN_INTERVAL = duration(
    "generate.min.interval",
    -1,
    "Reject URLs whose fetch interval is above; -1: none.",
    unit="s",
    minimum=-1,
)
GENERATE_RESTRICT_STATUS = choice(
    "generate.restrict.status",
    "",
    ("", *(status.label for status in DB_STATUSES)),
    "Select only URLs of this status; empty: of any.",
)
GENERATE_MAX_NUM_SEGMENTS = integer(
    "generate.max.num.segments",
    1,
    "Most segments that one generate makes.",
    unit="segments",
    minimum=1,
)
GENERATE_FILTER = boolean("generate.filter", True, "Filter URLs while selecting.")
GENERATE_NORMALISE = boolean(
    "generate.normalise", True, "Normalize URLs before their host or domain is counted."
)
GENERATE_EXPECTED_LATENCY = duration(
    "generate.expected.latency",
    0.5,
    "How long a fetch is expected to take, beside the delay, when partitions are balanced.",
    unit="s",
)
CRAWL_GEN_DELAY = duration(
    "crawl.gen.delay",
    604800000,
    "How long a URL of a fetch list stays reserved for its segment, unless updatedb comes first;"
    " a segment that is given up can be deleted sooner.",
    unit="ms",
)
PARTITION_URL_MODE = choice(
    "partition.url.mode",
    "byHost",
    ("byHost", "byDomain", "byIP"),
    "URLs that share this are fetched by one task.",
)

# --- fetch -----------------------------------------------------------------------------
FETCHER_SERVER_DELAY = duration(
    "fetcher.server.delay", 5.0, "Pause between two requests to one server.", unit="s"
)
FETCHER_THREADS_FETCH = integer(
    "fetcher.threads.fetch", 10, "Fetching threads in a task.", unit="threads", minimum=1
)

# --- locks and reports -----------------------------------------------------------------
LOCK_STALE_AFTER = duration(
    "lock.stale.after",
    15,
    "A lock of another machine whose owner has shown no sign of life for this long may be"
    " taken over.",
    unit="min",
    minimum=1,
)
LOCK_HEARTBEAT = duration(
    "lock.heartbeat",
    30,
    "How often the owner of a lock shows a sign of life.",
    unit="s",
    minimum=0.1,
)
REPORT_SAMPLES = integer(
    "report.samples",
    20,
    "How many rejected URLs or lines a report keeps as samples for each reason.",
    minimum=0,
)

CORE: Mapping[str, Property[Any]] = {
    declared.name: declared for declared in properties_in(sys.modules[__name__])
}
"""Every property above, by name."""
