"""The operations as methods of a crawl, and as functions.

Written by scripts/api_methods.py from what the operations declare: change it there, and run that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.api.handle import Handle, call_function

if TYPE_CHECKING:
    from crawl.phases.dedup.operation import DuplicatesResult
    from crawl.phases.export.operation import ExportedDataset
    from crawl.phases.index.shown import IndexingResult


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
    done: dict[str, Any] = call_function("plan", "plan", locals())
    return done


class Methods(Handle):
    """Every operation on a crawl."""

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
        done: DuplicatesResult = self._do("dedup", "dedup", locals())
        return done

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

        `segments`: These segments (repeatable): the same as SEGMENT arguments.

        `every`: Index every segment that is parsed again.

        `since`: Index the segments that the CrawlDb has taken in after this snapshot of it.

        `crawldb`: Index what the segments have, without asking the CrawlDb.

        `delete_gone`: Delete the documents of pages that are gone, redirected, orphans or
        duplicates (the property indexer.delete).

        `filter`: Leave out URLs that filters reject today.

        `binary_content`: Documents have the page's bytes: binaryContent.

        `base64`: Binary content in Base64.

        `params`: Parameters of all index writers.

        `commit`: Leave it to the servers when to commit.

        `rebuild`: Make the index anew, of all segments; what is there is replaced when it is
        done.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.index(delete_gone=True).documents
        """
        done: IndexingResult = self._do("index", "index", locals())
        return done

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

        `commit`: Leave it to the servers when to commit.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.clean().documents
        """
        done: IndexingResult = self._do("clean", "clean", locals())
        return done

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
        that of the active index writer of the plugin tantivy, whatever its id.

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
        done: dict[str, Any] = self._do("search", "search", locals())
        return done

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

        `format`: jsonl and parquet: a record a page; wet: as Common Crawl's; markdown: a file a
        page.

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
        done: ExportedDataset = self._do("export", "export", locals())
        return done

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
        segment, or the oldest that is not fetched yet), or over --urls spread over --hosts.

        A request takes as long as the host's answers did, where the HostDb has measured them
        (`crawl updatehostdb`), and `latency` else.

        Assumptions: every host answers, its robots.txt (one request a host, unless it is on the
        allowlist) allows everything and asks for no pause; no two hosts share an address; the
        machine and its line are fast enough.

        `segment`: Whose fetch list; by default the oldest that is not fetched yet.

        `latency`: Mean seconds of a request to a host whose answers the HostDb has not measured.

        `spread`: Spread of latencies (log-normal: standard deviation of the logarithm).

        `measured`: Whether hosts answer as they did before, where the HostDb knows; else
        `latency` is taken for all of them.

        `threads`: Threads per task (default: fetcher.threads.fetch).

        `tasks`: Parts fetched at the same time (default: all).

        `seed`: Another number, other latencies.

        >>> web.simulate(latency=0.3)["seconds"]
        """
        done: dict[str, Any] = self._do("simulate", "simulate", locals())
        return done

    def stats(
        self, *, sort: bool = False, hosts: int | None = None, snapshot: int | None = None
    ) -> dict[str, Any]:
        """URLs by status, scores, intervals and retries; of the largest hosts too.

        `sort`: With --stats: also by host, largest first.

        `hosts`: With `sort`: how many hosts (default: 50).

        `snapshot`: Read this snapshot instead of the current.

        >>> web.stats()["status"]["db_fetched"]
        """
        done: dict[str, Any] = self._do("readdb", "stats", locals())
        return done

    def lookup(self, url: str, *, snapshot: int | None = None) -> dict[str, Any] | None:
        """The CrawlDb's record of one URL, from a CrawlDb of any size; none where it is not known,
        nor in its normal form.

        `url`: Everything known of one URL. Exit code 1 if it is not there.

        `snapshot`: Read this snapshot instead of the current.

        >>> web.lookup("https://example.org/")["statusName"]
        """
        done: dict[str, Any] | None = self._do("readdb", "lookup", locals())
        return done

    def top(
        self, count: int, *, min_score: float | None = None, snapshot: int | None = None
    ) -> list[dict[str, Any]]:
        """The URLs with the highest scores, best first.

        `count`: The N URLs with the highest scores.

        `min_score`: With `count`: only scores of at least this.

        `snapshot`: Read this snapshot instead of the current.

        >>> web.top(10)[0]["url"]
        """
        done: list[dict[str, Any]] = self._do("readdb", "top", locals())
        return done

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
        done: dict[str, Any] = self._do("readdb", "dump", locals())
        return done

    def check(self, *, deep: bool = False) -> list[dict[str, str]]:
        """What is damaged: every pointer, manifest, mark and file is looked at; `deep` reads every
        page too. Nothing is changed; a repair mends.

        `deep`: Read every page of every file, and look at its rows.

        >>> web.check()
        """
        done: list[dict[str, str]] = self._do("check", "check", locals())
        return done

    def repair(self, *, deep: bool = False, steal_lock: bool = False) -> list[str]:
        """Goes back to the newest intact state; what is damaged goes to the folder `quarantine` of
        the crawl, and nothing is deleted. Says what was done, a line each.

        `deep`: Read every page of every file, and look at its rows.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.repair()
        """
        done: list[str] = self._do("check", "repair", locals())
        return done
