"""The operations as methods of a crawl, and as functions.

Written by scripts/api_methods.py from what the operations declare: change it there, and run that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.api.handle import Handle

if TYPE_CHECKING:
    from crawl.phases.dedup.operation import DuplicatesResult
    from crawl.phases.export.operation import ExportedDataset
    from crawl.phases.index.shown import IndexingResult


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
