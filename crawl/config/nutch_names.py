"""Names of properties that Nutch has and this crawler has not, with what to use instead or
why there is none: whoever brings a nutch-site.xml along is not sent to the nearest spelling.
"""

from __future__ import annotations

_PLUGINS = (
    "plugins are named for each interface: `plugin.protocol`, `plugin.parser`, `urlfilter.order`,"
    " `urlnormalizer.order`, `scoring.filter.order`, `parsefilter.order`,"
    " `db.fetch.schedule.class`, `db.signature.class`; the command plugin lists them"
)
_FOUND_BY_NAME = "plugins are Python packages, found by their entry points or named module:Class"
_TLS = "TLS is what the machine's library allows; see `http.tls.certificates.check`"
_TIKA = "Tika runs as a server of its own: see `parser.tika.url`"
_NO_BROWSER = "no built-in protocol runs a browser: name a plugin of yours in `plugin.protocol`"
_INDEXING = "index writers have parameters in the file that `index.writers.file` names"
_NO_HOSTDB = "the HostDb here has fixed columns: see `hostdb.percentiles`, `hostdb.content.sizes`"
_NO_PUBLISHER = "nothing is published while it is fetched; the command status tells how far it is"
_ALWAYS_STORED = "stored with every page and record, always"
_HADOOP = "this runs on Spark: what Spark calls spark.… may be set here, Hadoop's as spark.hadoop.…"
_FOR_DEBUGGING = "logs are Spark's; CRAWL_DEBUG=1 in the environment shows where a fault comes from"

NUTCH_NAMES: dict[str, str] = {
    "db.default.fetch.interval": "use `db.fetch.interval.default`, in seconds",
    "db.ignore.internal.links.mode": "use `db.ignore.internal.links`",
    "db.max.anchor.length": "use `linkdb.max.anchor.length`",
    "db.max.inlinks": "use `linkdb.max.inlinks`, or `db.update.max.inlinks` for scores",
    "db.preserve.backup": "use `crawldb.snapshots.keep`: older states are there for a rollback",
    "fetcher.exceptions.per.queue.clear.after": "use `fetcher.max.exceptions.per.queue`",
    "fetcher.publisher": _NO_PUBLISHER,
    "fetcher.queue.use.host.settings": "use `fetcher.host.delays.file`",
    "fetcher.threads.per.host": "use `fetcher.threads.per.queue`",
    "fetcher.threads.per.host.by.ip": "use `fetcher.queue.mode`",
    "fetcher.threads.start.delay": "threads need no pause between their starts here; queues have"
    " one between requests, `fetcher.server.delay`",
    "fetcher.threads.timeout.divisor": "use `fetcher.threads.timeout`, in seconds",
    "fetcher.verbose": _FOR_DEBUGGING,
    "file.content.ignored": "use `fetcher.store.content`",
    "file.crawl.parent": "what may be read is below `file.root`, whatever links to it",
    "file.crawl.redirect_noncanonical": "what may be read is below `file.root`, whatever it is",
    "ftp.follow.talk": _FOR_DEBUGGING,
    "ftp.server.timeout": "use `ftp.timeout`",
    "generate.hostdb": "the HostDb is in the crawl's folder; `generate.max.count.expr` uses it",
    "generate.max.distance": "use `scoring.depth.max`, with depth in `scoring.filter.order`",
    "generate.max.per.host": "use `generate.max.count`, counted by `generate.count.mode`",
    "generate.max.per.host.by.ip": "use `generate.count.mode`",
    "http.agent.host": "what a User-Agent says is `http.agent.name`, `http.agent.url` and"
    " `http.agent.email`",
    "http.auth.realm": "use `http.auth.file`",
    "http.auth.host": "use `http.auth.file`",
    "http.auth.password": "use `http.auth.file`",
    "http.auth.username": "use `http.auth.file`",
    "http.log.exceptions.suppress.stack": _FOR_DEBUGGING,
    "http.max.delays": "a thread never waits for a server here; see `fetcher.max.crawl.delay`",
    "http.partial.truncated": "a page that breaks off is kept, marked as truncated; whether it is"
    " parsed says `parser.skip.truncated`",
    "http.proxy.realm": "use `http.proxy.username` and `http.proxy.password`",
    "http.robot.rules.whitelist": "use `http.robot.rules.allowlist`",
    "http.store.responsetime": _ALWAYS_STORED,
    "http.tls.supported.cipher.suites": _TLS,
    "http.tls.supported.protocols": _TLS,
    "http.useHttp11": "HTTP/1.1 is always spoken; HTTP/2 is `http.useHttp2`",
    "http.verbose": _FOR_DEBUGGING,
    "mime.types.file": "types are told by the server's word and the content (`mime.type.magic`)",
    "parser.fix.embeddedparams": "links are resolved as browsers do",
    "parser.html.NodesToExclude": "use `parser.main.content`",
    "parser.html.impl": "use `plugin.parser`: html is the quick parser, html-soup BeautifulSoup",
    "parser.html.line.separators": "every block of a page is a line of its text",
    "partition.url.by.host": "use `partition.url.mode`",
    "partition.url.seed": "the parts of a fetch list are balanced by the expected time of hosts",
    "plugin.auto-activation": _PLUGINS,
    "plugin.excludes": _PLUGINS,
    "plugin.folders": _FOUND_BY_NAME,
    "plugin.includes": _PLUGINS,
    "scoring.similarity.model": "cosine similarity is the only model; see"
    " `scoring.similarity.model.path`",
    "store.http.headers": _ALWAYS_STORED,
    "store.http.request": _ALWAYS_STORED,
    "store.ip.address": _ALWAYS_STORED,
    "store.protocol.versions": _ALWAYS_STORED,
    "urlfilter.automaton.file": "use `urlfilter.regex.file`",
    "urlfilter.automaton.rules": "use `urlfilter.regex.rules`",
    "urlfilter.domainblacklist.file": "use `urlfilter.domaindenylist.file`",
    "urlfilter.domainblacklist.rules": "use `urlfilter.domaindenylist.rules`",
    "urlfilter.tld.file": "use `urlfilter.domain.file`",
    "urlmeta.tags": "use `scoring.db.md` and `scoring.parse.md`, with metadata in"
    " `scoring.filter.order`",
    "urlnormalizer.order.DEFAULT": "use `urlnormalizer.order`",
}
"""What has no counterpart of the same name, and its answer; a property in it is in backticks."""

_FAMILIES: tuple[tuple[tuple[str, ...], str], ...] = (
    (("mapreduce.", "mapred.", "hadoop.", "fs.", "io.", "dfs.", "yarn."), _HADOOP),
    (("solr.", "elastic.", "indexer.", "index.", "indexingfilter.", "moreIndexing"), _INDEXING),
    (("hostdb.",), _NO_HOSTDB),
    (("publisher.", "rabbitmq.", "kafka."), _NO_PUBLISHER),
    (("selenium.", "libselenium.", "webdriver.", "interactive", "page.load."), _NO_BROWSER),
    (("tika.",), _TIKA),
    (("urlnormalizer.scope.", "urlnormalizer.order."), "use `urlnormalizer.order`"),
)
"""The same for all names of one beginning."""


def nutch_replacement(name: str) -> str:
    """What to use here for a property of Nutch's; empty where it is none that we know of."""
    replacement = NUTCH_NAMES.get(name)
    if replacement is None:
        replacement = next((text for starts, text in _FAMILIES if name.startswith(starts)), "")
    return replacement
