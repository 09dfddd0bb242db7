"""The operations as methods of a crawl, and as functions.

Written by scripts/api_methods.py from what the operations declare: change it there, and run that.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.api.handle import Handle

if TYPE_CHECKING:
    from crawl.operations.results import PhaseResult
    from crawl.phases.dedup.operation import DuplicatesResult


class Methods(Handle):
    """Every operation on a crawl."""

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
        done: PhaseResult = self._do("inject", "inject", locals())
        return done

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
        done: PhaseResult = self._do("sitemap", "sitemap", locals())
        return done

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
        done: PhaseResult = self._do("generate", "generate", locals())
        return done

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
        done: PhaseResult = self._do("updatedb", "updatedb", locals())
        return done

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
