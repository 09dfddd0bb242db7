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
    from crawl.rounds.results import PlannedStep, RunResult


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
        done: RunResult = self._do("run", "run", locals())
        return done

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
        done: list[PlannedStep] = self._do("run", "plan_rounds", locals())
        return done

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
        done: PhaseResult = self._do("fetch", "fetch", locals())
        return done

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

        `filter`: Keep links that the URL filters reject.

        `normalize`: Leave links as the pages have them.

        `steal_lock`: Take the lock even if its owner seems to be alive.

        >>> web.parse().counters["outlinks_kept"]
        """
        done: PhaseResult = self._do("parse", "parse", locals())
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
