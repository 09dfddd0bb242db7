"""The operations as methods of a crawl, and as functions.

Written by scripts/api_methods.py from what the operations declare: change it there, and run that.
"""

# what an operation returns is what it declares, which no type checker can follow
# mypy: no-warn-return-any

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.api.handle import Handle, call_function

if TYPE_CHECKING:
    from crawl.operations.results import PhaseResult
    from crawl.phases.dedup.operation import DuplicatesResult
    from crawl.phases.export.operation import ExportedDataset
    from crawl.phases.gc.operation import GarbageResult
    from crawl.phases.hostgraph.operation import HostGraphResult
    from crawl.phases.index.shown import IndexingResult
    from crawl.rounds.results import PlannedStep, RunResult


def plan(
    *,
    urls: float,
    hosts: float,
    pages_per_day: float | None = None,
    page_bytes: float = 84000.0,
    links: float = 60.0,
    skew: float = 0.9,
    delay: float = 5.0,
    latency: float = 0.5,
    revisit_days: float = 30.0,
    rounds_per_day: float = 4.0,
    seeds: float | None = None,
    keep_days: float | None = None,
    buckets: int | None = None,
    nodes: int | None = None,
    cores_per_node: int = 16,
    memory_per_node: float = 64000000000.0,
    bandwidth_per_node: float = 10000000000.0,
    threads: int | None = None,
    use: float = 0.7,
    price_per_node_hour: float = 0.7,
    price_per_gb_month: float = 0.023,
    price_per_million_puts: float = 5.0,
    price_per_million_gets: float = 0.4,
    costs: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    conf: str | Path | None = None,
) -> dict[str, Any]:
    """Estimate what a crawl of a given size takes: nodes, hours, storage, requests, money.

    A phase takes as long as the slowest of what it needs, which the column `bound` names:
    processors, the line, the object store's answers, threads that wait for hosts, tasks (fewer
    than cores: more `buckets`), or politeness. A host gives one page every delay + latency,
    however many machines ask: the least time for a round's pages follows from how URLs are
    spread over hosts, and `skew` says how. The costs of a unit of work were measured; each
    figure and where it is from is in conf/costs.toml. Measure on your machines before you buy
    any. Prices are examples until you give yours; all 0: no costs are shown. The last table has
    the settings for spark-submit, computed from a node's cores and memory, each with its reason;
    where a node has no room for one executor, the exit code is 1.

    Assumptions: hosts answer, and their robots.txt, asked for once a day, allows everything and
    asks for no pause of its own; every request is a new TLS connection; pages travel
    uncompressed; 30 ms a request to the object store; no two phases run at the same time. If no
    number of nodes is enough, the exit code is 1.

    PUT and GET are the requests to the store by what they cost: lists count as PUT, looks at a
    file (HEAD) as GET. Those of inject, generate and updatedb are held against counted ones.

    `urls`: URLs in the CrawlDb.

    `hosts`: Hosts that they are on.

    `pages_per_day`: Pages to fetch (default: all URLs in `revisit_days`).

    `page_bytes`: Size of a page (default: 84kB).

    `links`: Links kept of a page (default: 60).

    `skew`: The n-th host has 1/n^SKEW as many URLs as the first; 0: all alike (default: 0.9).

    `delay`: The property fetcher.server.delay (default: 5s).

    `latency`: Of an answer, on average (default: 0.5s).

    `revisit_days`: Wanted between two visits (default: 30d).

    `rounds_per_day`: Rounds, one after the other (default: 4).

    `seeds`: Injected once, before the first round (default: one a host).

    `keep_days`: Segments are kept so long (default: `revisit_days`).

    `buckets`: Of the CrawlDb (default: one for 10 million URLs).

    `nodes`: Use this many instead of the fewest that suffice.

    `cores_per_node`: Cores of a node.

    `memory_per_node`: Memory of a node (default: 64GB).

    `bandwidth_per_node`: Bits a second of a node's line (default: 10Gbit).

    `threads`: A fetch task (default: as many as keep a core busy while hosts answer).

    `use`: Share of a node that does this work: Spark, stragglers and failures take the rest.

    `price_per_node_hour`: In whatever money; for example 0.7, which is the default.

    `price_per_gb_month`: In whatever money; for example 0.023, which is the default.

    `price_per_million_puts`: In whatever money; for example 5, which is the default.

    `price_per_million_gets`: In whatever money; for example 0.4, which is the default.

    `costs`: Measured costs of a unit of work, from `scripts/bench/run costs --out FILE`
    (default: those that come along).

    >>> crawl.plan(urls=1e9, hosts=5e6, pages_per_day=1e8)["nodes"]
    """
    return call_function("plan", "plan", locals())


def list_plugins(
    *,
    active: bool = False,
    settings: Mapping[str, object] | None = None,
    conf: str | Path | None = None,
) -> list[dict[str, Any]]:
    """List what can be plugged into the crawler: every interface's plugins, which are active, in
    what order, and why.

    `active`: Only the active ones.

    >>> [each["plugin"] for each in crawl.list_plugins() if each["interface"] == "urlfilter"]
    """
    return call_function("plugin", "list_plugins", locals())


def list_properties(
    pattern: str = "",
    *,
    changed: bool = False,
    show_secrets: bool = False,
    settings: Mapping[str, object] | None = None,
    conf: str | Path | None = None,
) -> list[dict[str, Any]]:
    """List every property with its value, its unit, where the value came from, and what the
    property is for. Passwords, tokens and headers that look like credentials are masked as ***,
    unless `show_secrets` is given.

    `pattern`: A part of the names that are looked for, or a whole name with wildcards.

    `changed`: Only those that differ from their defaults.

    `show_secrets`: Print passwords and tokens as they are.

    >>> {each["key"]: each["value"] for each in crawl.list_properties()}["fetcher.server.delay"]
    """
    return call_function("showproperties", "list_properties", locals())


class Methods(Handle):
    """Every operation on a crawl."""

    def run(
        self,
        *,
        urls: Iterable[str] | str = (),
        files: Iterable[str | Path] | str | Path = (),
        rounds: int | None = None,
        until_empty: bool = False,
        top_n: int = 50000,
        num_fetchers: int | None = None,
        threads: int | None = None,
        time_limit_min: float | None = None,
        add_days: float = 0.0,
        wait: str | None = None,
        overlap: bool | None = None,
        then: Iterable[str] | str = (),
        steal_lock: bool = False,
    ) -> RunResult:
        """Crawl in rounds of generate, fetch, parse and updatedb, all in one Spark session; one
        round, unless told otherwise.

        A round that was interrupted, by whatever, is finished first: run the same command again.
        A file .STOP in the crawl's folder ends the crawl after the step under way; Ctrl-C ends
        it now, gracefully, with exit code 130. Exit code 1: nothing was due. Hosts that do not
        answer are left alone for longer each time (`crawl status`), and do not hold up the
        others.

        `then` takes what the rounds brought into links, ranks, duplicates and the index, each
        step as its command does it without options, in the order in which they build on each
        other. A step that has nothing to do is passed over. Nothing follows an interruption or a
        .STOP: run the same command again.

        `urls`: URLs to inject first, as `inject` does.

        `files`: Seed file or folder to inject first (repeatable).

        `rounds`: At most this many; -1: any number (default: 1).

        `until_empty`: Any number of rounds, until nothing is due now.

        `top_n`: At most this many URLs per round.

        `num_fetchers`: Parts of a fetch list, each fetched by a task (default: one a task slot
        of the cluster).

        `threads`: Threads per task (default: the configuration's, else 50).

        `time_limit_min`: Minutes that one fetch may take; what is left stays due; -1: any
        (default: the configuration's, else 180).

        `add_days`: Fetch also what becomes due within this many days, each URL once.

        `wait`: Where nothing is due, look again after this time (30s, 10m, 2h, 1d), or as soon
        as a host in backoff may be asked again.

        `overlap`: With `until_empty` or `rounds` -1: parse, updatedb and generate while the next
        list is fetched (default: crawl.rounds.overlap).

        `then`: What follows the rounds: invertlinks, webgraph, linkrank, hostgraph,
        scoreupdater, dedup, updatehostdb, index, clean. With `wait` it follows each of them.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.run(rounds=2).rounds[0].fetched
        >>> [step.is_done for step in web.run(then=["dedup"]).after]
        """
        return self._do("run", "run", locals())

    def plan_rounds(
        self,
        *,
        urls: Iterable[str] | str = (),
        files: Iterable[str | Path] | str | Path = (),
        rounds: int | None = None,
        until_empty: bool = False,
        top_n: int = 50000,
        num_fetchers: int | None = None,
        threads: int | None = None,
        time_limit_min: float | None = None,
        add_days: float = 0.0,
        wait: str | None = None,
        overlap: bool | None = None,
        then: Iterable[str] | str = (),
        steal_lock: bool = False,
    ) -> list[PlannedStep]:
        """What `run` would do with these options: every step in order, and the command that does
        the same. Nothing is done.

        `urls`: URLs to inject first, as `inject` does.

        `files`: Seed file or folder to inject first (repeatable).

        `rounds`: At most this many; -1: any number (default: 1).

        `until_empty`: Any number of rounds, until nothing is due now.

        `top_n`: At most this many URLs per round.

        `num_fetchers`: Parts of a fetch list, each fetched by a task (default: one a task slot
        of the cluster).

        `threads`: Threads per task (default: the configuration's, else 50).

        `time_limit_min`: Minutes that one fetch may take; what is left stays due; -1: any
        (default: the configuration's, else 180).

        `add_days`: Fetch also what becomes due within this many days, each URL once.

        `wait`: Where nothing is due, look again after this time (30s, 10m, 2h, 1d), or as soon
        as a host in backoff may be asked again.

        `overlap`: With `until_empty` or `rounds` -1: parse, updatedb and generate while the next
        list is fetched (default: crawl.rounds.overlap).

        `then`: What follows the rounds: invertlinks, webgraph, linkrank, hostgraph,
        scoreupdater, dedup, updatehostdb, index, clean. With `wait` it follows each of them.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> [each.command for each in web.plan_rounds(rounds=2)]
        """
        return self._do("run", "plan_rounds", locals())

    def inject(
        self,
        urls: Iterable[str] | str = (),
        files: Iterable[str | Path] | str | Path = (),
        *,
        overwrite: bool = False,
        update: bool = False,
        filter: bool = True,
        normalize: bool = True,
        filter_normalize_all: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        r"""Put seed URLs into the CrawlDb of the crawl, making it if need be.

        Seeds are read from text files (plain or gzip) or folders of them: a URL a line,
        optionally followed by TAB-separated key=value pairs. `nutch.score`,
        `nutch.fetchInterval` and `nutch.fetchInterval.fixed` are understood, other keys become
        metadata; lines that start with # are comments. A line that is no URL is counted, never
        fatal; where no line at all can be used, nothing is written and the exit code is 1
        (unless `filter_normalize_all` gives it other work).

        `urls`: URLs to inject. Each may be followed by TAB-separated key=value pairs, as on a
        line of a seed file.

        `files`: Seed files, plain or gzip, and folders of them.

        `overwrite`: A seed replaces the record of a known URL.

        `update`: A seed's metadata, score and interval are put into the record of a known URL.

        `filter=False`: Take seeds that the URL filters reject.

        `normalize=False`: Take seeds as they are written.

        `filter_normalize_all`: Normalise and filter the URLs already in the CrawlDb too.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.inject(["https://example.org/", "https://example.com/\tnutch.score=2"])
        >>> web.inject(files="seeds.txt")
        """
        return self._do("inject", "inject", locals())

    def sitemap(
        self,
        urls: Iterable[str] | str = (),
        *,
        files: Iterable[str | Path] | str | Path = (),
        hosts: bool | None = None,
        max_hosts: int | None = None,
        num_fetchers: int | None = None,
        filter: bool = True,
        normalize: bool = True,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Put the URLs that sites list in their sitemaps into the CrawlDb of the crawl. Without any
        sitemaps or sites that are named, the hosts of the CrawlDb are asked; with them, only if
        `hosts` is given.

        Each host is asked for the sitemaps that its robots.txt names, or for /sitemap.xml where
        it names none: politely, and as its robots.txt allows. XML, indexes, RSS, Atom and lists
        of URLs are read, packed or not. A URL is taken from a sitemap in the same folder of its
        host or above, or from one that its host's robots.txt names (sitemap.strict.parsing).

        New URLs are due at once, with the priority as score and the changefreq as interval.
        Known ones whose lastmod is later than their last fetch are due again. What is dropped is
        counted; where nothing is left, nothing is written and the exit code is 1.

        `urls`: A sitemap, or the front page of a site whose sitemaps are wanted. May be
        repeated.

        `files`: A file, or a folder of files, of such URLs, one a line. May be repeated.

        `hosts`: Ask the hosts of the CrawlDb.  [default: unless URLs are given]

        `max_hosts`: How many of them, those with the most URLs first; -1: all.  [default:
        sitemap.max.hosts]

        `num_fetchers`: Tasks that ask at the same time, each other servers.  [default: the
        cores]

        `filter=False`: Take URLs that the URL filters reject.

        `normalize=False`: Take URLs as they are written.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.sitemap().counters["urls_new"]
        >>> web.sitemap(["https://example.org/sitemap.xml"])
        """
        return self._do("sitemap", "sitemap", locals())

    def refresh(
        self,
        patterns: Iterable[str] | str,
        *,
        gone: bool = False,
        dry_run: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Make URLs of the crawl due now, so that the next round fetches them whatever their
        interval.

        A HOST means all its URLs, *.DOMAIN those of the domain and of all hosts below it, a URL
        that page alone. In a PATTERN * stands for any characters, and with no scheme it means
        every scheme.

        What is known of a page stays: a server may still answer that it did not change, and the
        page is not sent again. Hosts in backoff stay in it. URLs on a fetch list that is not
        finished are left alone, and so are pages that are gone, unless `gone` is given.

        `patterns`: Hosts, domains, URLs and patterns of the URLs to be made due.

        `gone`: Pages that are gone, too.

        `dry_run`: Count what would be made due, and do nothing.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.refresh("https://example.org/*").counters["made_due"]
        >>> web.refresh(["*.com", "https://example.org/"], dry_run=True).counters["matched"]
        """
        return self._do("refresh", "refresh", locals())

    def generate(
        self,
        *,
        top_n: int | None = None,
        num_fetchers: int | None = None,
        max_num_segments: int | None = None,
        add_days: float = 0.0,
        expr: str | None = None,
        filter: bool | None = None,
        normalize: bool | None = None,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Select the due URLs with the highest scores into new segments of the crawl; none, and
        exit code 1, where nothing is due.

        `top_n`: At most this many URLs per segment.

        `num_fetchers`: Parts of a fetch list, each fetched by a task (default: one a task slot
        of the cluster).

        `max_num_segments`: Make up to this many segments, each as if the ones before were taken
        already.

        `add_days`: Select as if it were this many days later.

        `expr`: Only records that this Spark SQL condition holds for.

        `filter=False`: Do not ask the URL filters.

        `normalize=False`: Count a host under its own name, not its normalised one.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.generate(top_n=1000).segments
        """
        return self._do("generate", "generate", locals())

    def fetch(
        self,
        segment: str | None = None,
        *,
        threads: int | None = None,
        more_rounds: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Fetch a segment of the crawl politely: the named one, or the oldest that is not fetched
        yet.

        `http.agent.name` must be set. An interrupt (Ctrl-C, or the kernel's) stops the fetch
        gracefully: what is fetched is kept, and the same command resumes it. Its exit code is
        130 then; in Python KeyboardInterrupt is raised.

        `segment`: The segment to fetch (default: the oldest not fetched yet).

        `threads`: Threads per task (default: fetcher.threads.fetch).

        `more_rounds`: A further round follows: a tail of few slow hosts is not waited for, but
        left for it (fetcher.tail.cut).

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.fetch().counters["records"]
        """
        return self._do("fetch", "fetch", locals())

    def parse(
        self,
        segment: str | None = None,
        *,
        reparse: bool = False,
        filter: bool = True,
        normalize: bool = True,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Parse a fetched segment of the crawl: the named one, or the oldest that is not parsed
        yet.

        Text, data and links of its pages become parse_data, parse_text and crawl_parse. A page
        whose parser hangs, dies or eats memory is recorded as failed, and the others go on.

        `segment`: The segment to parse (default: the oldest not parsed yet).

        `reparse`: Parse a segment again and replace its parse.

        `filter=False`: Keep links that the URL filters reject.

        `normalize=False`: Leave links as the pages have them.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.parse().counters["outlinks_kept"]
        """
        return self._do("parse", "parse", locals())

    def updatedb(
        self,
        segments: Iterable[str] | str = (),
        *,
        additions: bool | None = None,
        filter: bool | None = None,
        normalize: bool | None = None,
        again: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Merge segments into the CrawlDb of the crawl: what became of fetched URLs and when they
        are due again, new URLs, and scores.

        Without a named segment: every one that is fetched, parsed and not in the CrawlDb yet,
        oldest first. A segment that is named may be unparsed; then there are no links and
        signatures. A segment is applied once: after a `crawl rollback` to before it, it can be
        again.

        `segments`: These segments (repeatable): the same as SEGMENT arguments.

        `additions=False`: Update known URLs only; add no new ones.

        `filter`: Drop every URL that the URL filters reject today.

        `normalize`: Bring every URL into the form that is normal today.

        `again`: Apply named segments again, or whose fetch was interrupted.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.updatedb().counters["urls_new"]
        """
        return self._do("updatedb", "updatedb", locals())

    def invertlinks(
        self,
        segments: Iterable[str] | str = (),
        *,
        normalize: bool = True,
        filter: bool = True,
        again: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Merge the links of parsed segments into the LinkDb of the crawl, turned around: for each
        URL the pages that link to it, with the texts of their links.

        Without a SEGMENT: every one that is parsed and not in the LinkDb yet. A segment is
        inverted once, and the order does not matter. Links within a host are left out where
        there are several (linkdb.ignore.internal.links: auto, true or false). Of more than
        linkdb.max.inlinks links to a URL those of the pages with the highest scores are kept.

        `segments`: These segments (repeatable): the same as SEGMENT arguments.

        `normalize=False`: Take the URLs of both pages as they are.

        `filter=False`: Take links that the URL filters reject.

        `again`: Also invert named segments that are in the LinkDb already, in place of what they
        brought before, and such whose parse is not whole, as far as they were parsed.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.invertlinks().counters["links_kept"]
        """
        return self._do("invertlinks", "invertlinks", locals())

    def mergelinkdb(
        self,
        others: Iterable[str | Path] | str | Path,
        *,
        normalize: bool = False,
        filter: bool = False,
        rebucket: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Merge the LinkDbs of other crawls into that of the crawl, making it if need be. The
        others stay as they are.

        Links are chosen as by invertlinks, so that it does not matter in which order LinkDbs are
        merged, or how often.

        `others`: Folders of crawls whose LinkDbs are merged.

        `normalize`: Bring the URLs of the others into the form normal today.

        `filter`: Leave out links whose URLs the filters reject.

        `rebucket`: Also merge LinkDbs that have another number of buckets.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.mergelinkdb(["crawl-2025"]).counters["links_kept"]
        """
        return self._do("mergelinkdb", "mergelinkdb", locals())

    def webgraph(
        self,
        segments: Iterable[str] | str = (),
        *,
        filter: bool = False,
        normalize: bool = False,
        again: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Take the links of parsed segments into the link graph of the crawl: pages that link or
        are linked to, and which to which. Of a page that was fetched several times, the newest
        counts.

        Without a SEGMENT: every one that is parsed and not in the graph yet. Which links count
        say the properties link.ignore.*; by default, where there is more than one domain, none
        within one, and of several to or from one the first. Scores of an older linkrank are gone
        with the graph that they belong to.

        `segments`: These segments (repeatable): the same as SEGMENT arguments.

        `filter`: Drop links that the URL filters reject today.

        `normalize`: Bring links into the form that is normal today.

        `again`: Take named segments in again, or whose parse is not whole.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.webgraph().counters["nodes"]
        """
        return self._do("webgraph", "webgraph", locals())

    def linkrank(
        self,
        *,
        iterations: int | None = None,
        pagerank: bool = False,
        tolerance: float | None = None,
        by_domain: bool = False,
        seeds: str | Path | None = None,
        deny: str | Path | None = None,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Rank the pages of the link graph of the crawl by the pages that link to them: by
        LinkRank, or by PageRank. The scores become those of the CrawlDb by `crawl scoreupdater`.

        `iterations`: How often scores are handed on (default: link.analyze.num.iterations); with
        `pagerank`: at most (default: 100).

        `pagerank`: PageRank instead of LinkRank, until it converges: all links count, and pages
        without links hand their rank to all. Scores add up to 1.

        `tolerance`: With `pagerank`: converged when the ranks change by less in all.  [default:
        1e-06]

        `by_domain`: With `pagerank`: ranks for the order of a crawl. The surfer begins anew
        where the pages of a domain rank high, so that spam which links to itself gains little;
        the damping is link.analyze.domain.damping.factor.

        `seeds`: With `pagerank`: personalised; the surfer begins anew at the pages of these
        URLs, hosts or domains, one a line.

        `deny`: With `pagerank`: spam, as URLs, hosts or domains, one a line. These pages, and
        those that link to little else, hand nothing on.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.linkrank(iterations=20)
        >>> web.linkrank(pagerank=True, tolerance=1e-8).counters["iterations"]
        """
        return self._do("linkrank", "linkrank", locals())

    def hostgraph(
        self,
        *,
        group: str = "host",
        centrality: str | None = None,
        top: int = 20,
        steal_lock: bool = False,
    ) -> HostGraphResult:
        """Make the graph of hosts of the crawl, or of its registered domains, out of the link
        graph, and rank them by harmonic centrality and PageRank. Links within a host do not
        count.

        With scoring.filter.order=host-centrality, and the folder hostgraph of the crawl as
        scoring.host.ranks.file, the pages of the first hosts are fetched first. `crawl
        nodedumper --format cc` writes the graph in Common Crawl's form.

        `group`: Hosts, or registered domains.

        `centrality`: How harmonic centrality is computed: exact, or by HyperBall, an estimate
        for graphs of any size (default: exact below 10,000 hosts).

        `top`: How many hosts are listed; `crawl nodedumper --format cc` writes all.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> [host["host"] for host in web.hostgraph().top]
        """
        return self._do("hostgraph", "hostgraph", locals())

    def scoreupdater(self, *, steal_lock: bool = False) -> PhaseResult:
        """Make the scores of the link graph of the crawl those of its CrawlDb. URLs that the graph
        does not know get link.score.updater.clear.score.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.scoreupdater().counters["urls_scored"]
        """
        return self._do("scoreupdater", "scoreupdater", locals())

    def nodedumper(
        self,
        output: str | Path | None = None,
        *,
        by: str = "scores",
        top: int | None = None,
        group: str | None = None,
        combine: str = "sum",
        format: str | None = None,
        as_eff: bool = False,
        overwrite: bool = False,
    ) -> list[tuple[str, float]] | int:
        """The pages of the link graph of the crawl with the highest scores, or the most inlinks or
        outlinks, with these; or their hosts or domains, by the sum or the greatest of their
        pages. With `output` the list may be of any length; it is written to files, which one
        behind the other are in order, and its lines are counted.

        `by`: By the score, or the number of inlinks or outlinks, of pages.

        `top`: Only the first N.

        `group`: Hosts or domains instead of pages.

        `combine`: With `group`: the sum, or the greatest, of a host's or domain's pages.

        `output`: Write files to a new folder.

        `format`: With `output`: of the files (default: text on the command line, parquet in
        Python).

        `as_eff`: Text with = between name and value, for Solr's file fields.

        `overwrite`: Replace the files of an older call in FOLDER.

        >>> web.nodedumper(top=10, by="inlinks", group="domain")
        >>> web.nodedumper("ranks", by="scores")
        """
        return self._do("nodedumper", "nodedumper", locals())

    def dump_hostgraph(
        self, output: str | Path, *, group: str = "host", overwrite: bool = False
    ) -> tuple[int, int]:
        """Writes the graph of hosts or domains to a new folder in Common Crawl's form (vertices,
        edges and ranks, as text and as Parquet); says how many vertices and edges it has.

        `output`: Write files to a new folder.

        `group`: The graph of hosts, or that of domains.

        `overwrite`: Replace the files of an older call in FOLDER.

        >>> web.dump_hostgraph("graph")
        """
        return self._do("nodedumper", "dump_hostgraph", locals())

    def nodereader(self, url: str, *, links: int = 0) -> dict[str, Any] | None:
        """Show what the link graph of the crawl knows of a page. Where it is not there, the exit
        code is 1, and in Python the answer is None.

        `url`: The page.

        `links`: Also name up to N of the pages that link there, and that it links to.

        >>> web.nodereader("https://example.org/", links=5)
        """
        return self._do("nodereader", "nodereader", locals())

    def updatehostdb(
        self, segments: Iterable[str] | str = (), *, rebuild: bool = False, steal_lock: bool = False
    ) -> PhaseResult:
        """Count what each host of the crawl is like, and keep it as its HostDb.

        Its URLs by status and its homepage, as the CrawlDb has them now; requests, failures,
        response times and sizes of all segments together; what is known of its robots.txt, its
        sitemaps and its name.

        Without a SEGMENT: every one that is fetched and not counted yet. A segment is counted
        once. `crawl readhostdb` shows it; generate uses it in `generate.max.count=auto`,
        `generate.max.count.expr` and `generate.fetch.delay.expr`.

        `segments`: These segments (repeatable): the same as SEGMENT arguments.

        `rebuild`: Begin anew: count every segment that is there, and forget what others brought.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.updatehostdb().counters["hosts"]
        """
        return self._do("updatehostdb", "updatehostdb", locals())

    def dedup(
        self,
        *,
        group: str = "none",
        compare_order: str = "score,fetchTime,urlLength",
        near: str | None = None,
        preview: bool | int = False,
        pairs: int = 20,
        canonical: bool = False,
        redirects: bool = False,
        groups: int | None = None,
        urls: int = 10,
        report: str | Path | None = None,
        steal_lock: bool = False,
    ) -> DuplicatesResult:
        """Mark pages of the CrawlDb of the crawl that it has more than once as db_duplicate, all
        but one; a page that no other repeats any more is db_fetched again.

        Pages are the same if their signatures are (`db.signature.class`). Which one survives
        depends on the pages alone, not on who came first: run it as often as you like.

        `group`: Compare all pages (none), or only those of one host or one domain.

        `compare_order`: What decides which of the same pages survives, first things first:
        score, fetchTime, urlLength, httpsOverHttp, canonical, redirect.

        `near`: Also mark pages that are nearly the same and have the same title: jaccard[=SHARE]
        of the word triples of their main texts (default: 0.95), or hamming[=BITS] of simhashes
        as signatures (default: 3).

        `preview`: Mark nothing: show near duplicates, the most doubtful first, and what differs
        between them. In Python a number says how many.

        `pairs`: With `preview`: show so many of them.

        `canonical`: Also mark pages that name another page of the crawl as canonical; that one
        survives.

        `redirects`: Also mark pages that redirect to another page of the crawl; that one
        survives.

        `groups`: Show the N largest groups of the same pages.

        `urls`: Name so many of the duplicates of each of these groups.

        `report`: Write these groups (default: 1000) to a file, .json or .parquet.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.dedup(group="host").counters["duplicates"]
        >>> [group.survivor for group in web.dedup(groups=10).groups]
        >>> [pair.difference.changes for pair in web.dedup(near="jaccard", preview=20).pairs]
        """
        return self._do("dedup", "dedup", locals())

    def index(
        self,
        segments: Iterable[str] | str = (),
        *,
        every: bool = False,
        since: int | None = None,
        crawldb: bool = True,
        delete_gone: bool | None = None,
        filter: bool = False,
        binary_content: bool = False,
        base64: bool = False,
        params: Mapping[str, str] | None = None,
        commit: bool = True,
        rebuild: bool = False,
        steal_lock: bool = False,
    ) -> IndexingResult:
        """Make documents of pages and give them to the index writers that index.writers names.

        Of each URL the newest parse counts. Pages that are gone, redirected, duplicates, or that
        ask not to be indexed are left out. Without a SEGMENT: every one that is parsed and not
        indexed yet, also by one of the writers, and of older ones the pages that the CrawlDb no
        longer keeps out. Writers are told only what is new to them, and what they make is
        published at one moment: a job that dies changes nothing, and can be run again.

        The embedded index, which the index writer tantivy makes, needs the extra `search`.

        `segments`: These segments (repeatable): the same as SEGMENT arguments.

        `every`: Index every segment that is parsed again.

        `since`: Index the segments that the CrawlDb has taken in after this snapshot of it.

        `crawldb=False`: Index what the segments have, without asking the CrawlDb.

        `delete_gone`: Delete the documents of pages that are gone, redirected, orphans or
        duplicates (the property indexer.delete).

        `filter`: Leave out URLs that filters reject today.

        `binary_content`: Documents have the page's bytes: binaryContent.

        `base64`: Binary content in Base64.

        `params`: Parameters of all index writers.

        `commit=False`: Leave it to the servers when to commit.

        `rebuild`: Make the index anew, of all segments; what is there is replaced when it is
        done.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.index(delete_gone=True).documents
        """
        return self._do("index", "index", locals())

    def clean(
        self,
        *,
        params: Mapping[str, str] | None = None,
        commit: bool = True,
        steal_lock: bool = False,
    ) -> IndexingResult:
        """Delete stale documents from every index writer: those of pages that the CrawlDb of the
        crawl has as gone, redirected, duplicates or orphans, and of URLs that it no longer has.

        Run it after `crawl dedup` or when pages were purged; no segment is needed.

        `params`: Parameters of all index writers.

        `commit=False`: Leave it to the servers when to commit.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.clean().documents
        """
        return self._do("clean", "clean", locals())

    def search(
        self,
        query: Iterable[str] | str,
        *,
        limit: int = 10,
        offset: int = 0,
        per_host: int | None = None,
        duplicates: bool = False,
        exact: bool = False,
        facets: int = 0,
        explain: bool = False,
        writer: str | None = None,
    ) -> dict[str, Any]:
        """Search the pages of the crawl that `crawl index` put into the embedded index, which is
        that of the active index writer of the plugin tantivy, whatever its id. It needs the
        extra `search`.

        Words must all be on the page; in quotes beside each other; with - before them nowhere.
        Fields: title: anchor: text: url: host: site: lang: type: since: until:, and field.NAME:
        for others. Exit code 1: nothing was found. In Python the index stays open: the next
        query takes milliseconds.

        `query`: Words, "phrases", -without, and fields such as title: host: since:

        `limit`: Results to show.

        `offset`: Results to pass over.

        `per_host`: Results of one host at most; 0: any number (the property
        search.results.per.host).

        `duplicates`: Show pages with nearly the same text too.

        `exact`: Do not look for words with typos.

        `facets`: Count the pages of the N commonest hosts and languages.

        `explain`: Show why each page ranks where it does.

        `writer`: The index writer whose index is searched, where there are several.

        >>> web.search('open data lang:en', limit=5)["total"]
        """
        return self._do("search", "search", locals())

    def export(
        self,
        output: str | Path,
        *,
        format: str = "jsonl",
        text: str | None = None,
        segments: Iterable[str] | str = (),
        since: int | None = None,
        chunk: int | None = None,
        chunk_unit: str = "characters",
        filter: bool = False,
        overwrite: bool = False,
        steal_lock: bool = False,
    ) -> ExportedDataset:
        """Write the pages of the crawl as a dataset into the folder OUT: clean text or Markdown
        with title, language, dates, licence hints, hashes and quality signals.

        Of each URL the newest parse counts. Pages that are gone, redirected, duplicates, or that
        ask not to be indexed are left out and counted. The records are in OUT/data; OUT/_SUCCESS
        is written last. OUT must be new, or hold an export that was interrupted, or `overwrite`.

        `output`: The folder that the dataset is written to.

        `format`: Of its files; jsonl and parquet: a record a page; wet: as Common Crawl's;
        markdown: a file a page.

        `text`: Without menus and footers, as text (main) or Markdown, or all text of the page
        (full).  [default: main]

        `segments`: Only these segments (repeatable).

        `since`: Only what is new, changed or gone since this snapshot of the CrawlDb.

        `chunk`: A record a chunk of at most N characters, cut at headings, then at paragraphs.

        `chunk_unit`: What `chunk` counts.

        `filter`: Leave out URLs that filters reject today.

        `overwrite`: Replace an earlier export in OUT.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.export("dataset", format="parquet", text="markdown", overwrite=True).records
        """
        return self._do("export", "export", locals())

    def simulate(
        self,
        segment: str | None = None,
        *,
        latency: float = 0.5,
        spread: float = 0.5,
        measured: bool = True,
        threads: int | None = None,
        tasks: int | None = None,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Predict how long a fetch takes, without sending a byte.

        The fetcher itself runs in virtual time: over a fetch list of the crawl (the named
        segment, or the oldest that is not fetched yet), or, where none is named, over --urls
        spread over --hosts.

        A request takes as long as the host's answers did, where the HostDb has measured them
        (`crawl updatehostdb`), and `latency` else.

        Assumptions: every host answers, its robots.txt (one request a host, unless it is on the
        allowlist) allows everything and asks for no pause; no two hosts share an address; the
        machine and its line are fast enough.

        `segment`: Whose fetch list; by default the oldest that is not fetched yet.

        `latency`: Mean seconds of a request to a host whose answers the HostDb has not measured.

        `spread`: Spread of latencies (log-normal: standard deviation of the logarithm).

        `measured=False`: Take `latency` for all hosts, whatever the HostDb has measured.

        `threads`: Threads per task (default: fetcher.threads.fetch).

        `tasks`: Parts fetched at the same time (default: all).

        `seed`: Another number, other latencies.

        >>> web.simulate(latency=0.3)["seconds"]
        """
        return self._do("simulate", "simulate", locals())

    def status(self) -> list[dict[str, Any]]:
        """How far each segment is, also while another process works on it. Its state is
        `generated`, `interrupted` in its fetch, `fetched`, `parsed` or `updated`: the CrawlDb
        has taken it in; or it is the command that works on it now.

        >>> web.status()[-1]["state"]
        """
        return self._do("status", "status", locals())

    def hosts_left_alone(self) -> list[dict[str, Any]]:
        """The hosts whose URLs are not selected for now (backoff), why, and until when, the first
        to be asked again first.

        >>> [host["until"] for host in web.hosts_left_alone()]
        """
        return self._do("status", "hosts_left_alone", locals())

    def phase_costs(self) -> list[dict[str, Any]]:
        """What each phase of the last round took: seconds, the engine's jobs and tasks, and the
        bytes that were read, written, exchanged between tasks and passed through the driver. A
        figure that its report does not tell is None.

        >>> web.phase_costs()[-1]["bytes_exchanged"]
        """
        return self._do("status", "phase_costs", locals())

    def behind(self) -> list[dict[str, Any]]:
        """The derived tables that are behind what they are made from, such as a LinkDb that lacks
        segments: why, and the command that brings each up to date. Only those that the crawl
        has.

        >>> [table["command"] for table in web.behind()]
        """
        return self._do("status", "behind", locals())

    def stats(
        self, *, sort: bool = False, hosts: int | None = None, snapshot: int | None = None
    ) -> dict[str, Any]:
        """URLs by status, scores, intervals and retries; of the largest hosts too.

        `sort`: With --stats: also by host, largest first.

        `hosts`: With `sort`: how many hosts (default: 50).

        `snapshot`: Read this snapshot instead of the current.

        >>> web.stats()["status"]["db_fetched"]
        """
        return self._do("readdb", "stats", locals())

    def lookup(self, url: str, *, snapshot: int | None = None) -> dict[str, Any] | None:
        """The CrawlDb's record of one URL, from a CrawlDb of any size; none where it is not known,
        nor in its normal form.

        `url`: Everything known of one URL. Exit code 1 if it is not there.

        `snapshot`: Read this snapshot instead of the current.

        >>> web.lookup("https://example.org/")["statusName"]
        """
        return self._do("readdb", "lookup", locals())

    def top(
        self, count: int, *, min_score: float | None = None, snapshot: int | None = None
    ) -> list[dict[str, Any]]:
        """The URLs with the highest scores, best first.

        `count`: The N URLs with the highest scores.

        `min_score`: With `count`: only scores of at least this.

        `snapshot`: Read this snapshot instead of the current.

        >>> web.top(10)[0]["url"]
        """
        return self._do("readdb", "top", locals())

    def dump_crawldb(
        self,
        folder: str | Path,
        *,
        format: str = "parquet",
        status: str | None = None,
        regex: str | None = None,
        retry: int | None = None,
        expr: str | None = None,
        sample: float | None = None,
        overwrite: bool = False,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        r"""Writes records of the CrawlDb to a new folder; says how many.

        `folder`: Write records to a new folder.

        `format`: With `folder`: of its files; parquet and json keep every value, csv and text
        escape what terminals and spreadsheets would obey (\x1b, '=).

        `status`: With `folder`: only records of this status.

        `regex`: With `folder`: only URLs that match as a whole (RE2 syntax).

        `retry`: With `folder`: only records with N retries.

        `expr`: With `folder`: only records that this Spark SQL condition holds for.

        `sample`: With `folder`: a share of the records, by chance.

        `overwrite`: With `folder`: replace an older dump in FOLDER.

        `snapshot`: Read this snapshot instead of the current.

        >>> web.dump_crawldb("out", format="csv", status="db_gone")["records"]
        """
        return self._do("readdb", "dump", locals())

    def host(self, name: str) -> dict[str, Any] | None:
        """What is known of one host, from a HostDb of any size; none where it is not known.

        `name`: Everything known of one host. Exit code 1 if it is not there.

        >>> web.host("example.org")
        """
        return self._do("readhostdb", "host", locals())

    def top_hosts(
        self, count: int = 20, *, by: str = "urls", expr: str | None = None
    ) -> list[dict[str, Any]]:
        """The hosts with the greatest values in a column, greatest first.

        `count`: The N greatest hosts by a column.

        `by`: With `count`: the column.

        `expr`: With `count` or --dump: only hosts that this Spark SQL condition holds for.

        >>> [host["host"] for host in web.top_hosts(10, by="failed")]
        """
        return self._do("readhostdb", "top_hosts", locals())

    def dump_hosts(
        self,
        folder: str | Path,
        *,
        format: str = "parquet",
        columns: Iterable[str] | str = (),
        expr: str | None = None,
        overwrite: bool = False,
    ) -> int:
        """Writes the HostDb to a new folder as Parquet, CSV, JSON lines or text; returns how many
        hosts.

        `folder`: Write hosts to a new folder.

        `format`: With `folder`: of its files.

        `columns`: With `folder`: only these columns.

        `expr`: With --top or `folder`: only hosts that this Spark SQL condition holds for.

        `overwrite`: With `folder`: replace an older dump in FOLDER.

        >>> web.dump_hosts("hosts", format="csv", columns=["host", "homepage"])
        """
        return self._do("readhostdb", "dump_hosts", locals())

    def inlinks(self, url: str) -> list[dict[str, Any]]:
        """The pages that link to a URL, with the texts of their links, best-scored first; from a
        LinkDb of any size.

        `url`: The pages that link to this URL. Exit code 1 if there is none.

        >>> [link["anchor"] for link in web.inlinks("https://example.org/")]
        """
        return self._do("readlinkdb", "inlinks", locals())

    def dump_linkdb(
        self,
        folder: str | Path,
        *,
        format: str = "parquet",
        regex: str | None = None,
        overwrite: bool = False,
    ) -> dict[str, Any]:
        """Writes the links of the LinkDb to a new folder; says how many.

        `folder`: Write the links to a new folder.

        `format`: With `folder`: of its files. parquet and csv have a row a link, json and text
        one a URL; csv and text escape what terminals and spreadsheets would obey.

        `regex`: With `folder`: only URLs that match as a whole (RE2 syntax).

        `overwrite`: With `folder`: replace an older dump in FOLDER.

        >>> web.dump_linkdb("links-out", format="csv")["links"]
        """
        return self._do("readlinkdb", "dump_linkdb", locals())

    def dust(
        self,
        *,
        hosts: Iterable[str] | str = (),
        min_support: int = 10,
        min_values: int = 3,
        max_exceptions: float = 0.01,
        apply: str | Path | None = None,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """Find what makes no difference in the URLs of the crawl, by host, with what speaks for it:
        parameters of the query or the path (session ids, campaign tags), index.html, slashes at
        the end, upper and lower case.

        A rule is learnt where URLs that differ in nothing else had the same content, often
        enough and without exceptions. Contents that many pages of a host share count for
        nothing. Exit code 1 where nothing is found.

        `hosts`: Only this host (repeatable).

        `min_support`: Different contents that must have stayed the same.

        `min_values`: Values of a parameter, its absence included, that must have been seen.

        `max_exceptions`: Share of the URLs whose content may be another.

        `apply`: Write the rules to a file for the urlnormalizer dust; those of an earlier
        `apply` stay in it unless exceptions have turned up.

        `snapshot`: Read this snapshot instead of the current.

        >>> web.dust(min_support=5)["rules"]
        >>> web.dust(apply="dust-urlnormalizer.txt")["file"]
        """
        return self._do("dust", "dust", locals())

    def mirrors(
        self,
        *,
        min_contents: int = 10,
        min_agreement: float = 0.95,
        hosts_file: str | Path | None = None,
        protocols_file: str | Path | None = None,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """Find sites of the crawl that are copies of others: with and without `www.`, http and
        https, whole copies on other hosts. Exit code 1 where there are none.

        `min_contents`: Different contents that both must have under the same paths.

        `min_agreement`: Share of their common paths that must have the same content.

        `hosts_file`: Write rules for the urlnormalizer host to a file.

        `protocols_file`: Write rules for the urlnormalizer protocol to a file, for http and
        https of a host.

        `snapshot`: Read this snapshot instead of the current.

        >>> web.mirrors()["mirrors"]
        >>> web.mirrors(hosts_file="host-urlnormalizer.txt")["hosts"]
        """
        return self._do("mirrors", "mirrors", locals())

    def domainstats(
        self,
        by: str = "host",
        *,
        top: int = 50,
        plot: str | Path | None = None,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """Count the fetched pages of the crawl by host, registered domain, public suffix or TLD: of
        all together, and of the largest.

        `by`: What is counted.

        `top`: How many names are listed.

        `plot`: Draw a picture: FILE.svg, .png or .pdf (extra `plot`).

        `snapshot`: Read this snapshot instead of the current.

        >>> web.domainstats("domain", top=10)["top"]
        """
        return self._do("domainstats", "domainstats", locals())

    def crawlcomplete(
        self,
        by: str = "host",
        *,
        top: int = 50,
        plot: str | Path | None = None,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """Tell how much of each host or domain of the crawl is done. UNFETCHED are URLs that wait
        to be fetched; redirects, duplicates, orphans and pages that are gone or could not be
        parsed are done, and counted by themselves. NOT_FETCHED is what Nutch calls UNFETCHED:
        all that is neither db_fetched nor db_notmodified.

        `by`: What is counted.

        `top`: How many names are listed.

        `plot`: Draw a picture: FILE.svg, .png or .pdf (extra `plot`).

        `snapshot`: Read this snapshot instead of the current.

        >>> web.crawlcomplete()["complete"]
        """
        return self._do("crawlcomplete", "crawlcomplete", locals())

    def protocolstats(
        self, *, plot: str | Path | None = None, snapshot: int | None = None
    ) -> dict[str, Any]:
        """Count the URLs of the crawl by the HTTP code of their last answer, and those of each code
        by status; UNFETCHED are those that never gave one.

        `plot`: Draw a picture: FILE.svg, .png or .pdf (extra `plot`).

        `snapshot`: Read this snapshot instead of the current.

        >>> web.protocolstats()["codes"]["200"]
        """
        return self._do("protocolstats", "protocolstats", locals())

    def linkstats(
        self, segments: Iterable[str] | str = (), *, top: int = 20, plot: str | Path | None = None
    ) -> dict[str, Any]:
        """Count the links of the crawl's parsed pages: how many pages have how many links, how many
        URLs how many links to them, and which URLs are the most linked.

        A page counts as it was parsed last, and a link that it has twice counts once. Without a
        SEGMENT: all that are parsed.

        `segments`: These segments (repeatable): the same as SEGMENT arguments.

        `top`: How many of the most linked URLs are listed.

        `plot`: Draw a picture: FILE.svg, .png or .pdf (extra `plot`).

        >>> web.linkstats(top=5)["top"]
        """
        return self._do("linkstats", "linkstats", locals())

    def snapshots(self) -> list[dict[str, Any]]:
        """The kept states of the CrawlDb, the current one last.

        >>> [state["snapshot"] for state in web.snapshots()]
        """
        return self._do("snapshots", "snapshots", locals())

    def snapshot_files(self) -> list[str]:
        """The Parquet files of the CrawlDb's current state, for programs that read them.

        >>> web.snapshot_files()[0]
        """
        return self._do("snapshots", "snapshot_files", locals())

    def rollback(self, to: int | None = None, *, steal_lock: bool = False) -> PhaseResult:
        """Make an older state of the CrawlDb of the crawl the current one.

        Without `to` that is the newest whole one before it. Nothing is deleted: `crawl
        snapshots` still lists the newer states, and rolling forward is the same command.
        Segments stay as they are.

        `to`: The snapshot (default: the newest whole one before the current).

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.rollback().snapshot
        """
        return self._do("rollback", "rollback", locals())

    def gc(self, keep: int | None = None, *, steal_lock: bool = False) -> GarbageResult:
        """Forget old snapshots of the CrawlDb of the crawl and delete files that no kept one names,
        and what killed commands left unfinished. Writers do this themselves; run it to keep
        fewer.

        A reader whose snapshot is forgotten meanwhile starts again with the current one; only
        jobs of your own that read the files by name (`crawl snapshots --files`, the Spark
        format) must be run again.

        `keep`: Snapshots to keep (default: crawldb.snapshots.keep).

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.gc(keep=1).counters["files_deleted"]
        """
        return self._do("gc", "gc", locals())

    def check(self, *, deep: bool = False) -> list[dict[str, str]]:
        """What is damaged: every pointer, manifest, mark and file is looked at; `deep` reads every
        page too. Nothing is changed; a repair mends.

        `deep`: Read every page of every file, and look at its rows.

        >>> web.check()
        """
        return self._do("check", "check", locals())

    def repair(self, *, deep: bool = False, steal_lock: bool = False) -> list[str]:
        """Goes back to the newest intact state; what is damaged goes to the folder `quarantine` of
        the crawl, and nothing is deleted. Says what was done, a line each.

        `deep`: Read every page of every file, and look at its rows.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.repair()
        """
        return self._do("check", "repair", locals())

    def rebucket(self, buckets: int, *, steal_lock: bool = False) -> PhaseResult:
        """Give the CrawlDb of the crawl more buckets, when its files pass 256 MB or the cluster has
        more cores than the CrawlDb has buckets. Where it has so many already, that is said, and
        is no fault.

        `buckets`: How many; a multiple of the present number.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.rebucket(64).snapshot
        """
        return self._do("rebucket", "rebucket", locals())

    def explain(self, url: str, *, robots: bool = False, inlinks: int = 5) -> dict[str, Any]:
        """Show everything that the crawl's folder knows about a URL, and what happens to it next.

        Its record and how it came to be, what segments say about it, what normalizers and
        filters make of it, when it is due and why generate would select it or not, who links to
        it; what the HostDb knows of its host, and what bound and pause follow from it; what its
        host's robots.txt said, and when it was asked. Spark is started only where
        generate.max.count.expr or generate.fetch.delay.expr is given, to evaluate it. Nothing is
        sent unless `robots` is given. Exit code 1: nothing is known about the URL.

        `url`: The URL.

        `robots`: Ask the host's robots.txt anew, politely.

        `inlinks`: List at most this many pages that link to it.

        >>> web.explain("https://example.org/")["next"]
        """
        return self._do("explain", "explain", locals())
