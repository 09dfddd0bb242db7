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
    done: list[dict[str, Any]] = call_function("plugin", "list_plugins", locals())
    return done


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
    done: list[dict[str, Any]] = call_function("showproperties", "list_properties", locals())
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

    def status(self) -> list[dict[str, Any]]:
        """How far each segment is, also while another process works on it. Its state is
        `generated`, `interrupted` in its fetch, `fetched`, `parsed` or `updated`: the CrawlDb
        has taken it in; or it is the command that works on it now.

        >>> web.status()[-1]["state"]
        """
        done: list[dict[str, Any]] = self._do("status", "status", locals())
        return done

    def hosts_left_alone(self) -> list[dict[str, Any]]:
        """The hosts whose URLs are not selected for now (backoff), why, and until when, the first
        to be asked again first.

        >>> [host["until"] for host in web.hosts_left_alone()]
        """
        done: list[dict[str, Any]] = self._do("status", "hosts_left_alone", locals())
        return done

    def phase_costs(self) -> list[dict[str, Any]]:
        """What each phase of the last round took: seconds, the engine's jobs and tasks, and the
        bytes that were read, written, exchanged between tasks and passed through the driver. A
        figure that its report does not tell is None.

        >>> web.phase_costs()[-1]["bytes_exchanged"]
        """
        done: list[dict[str, Any]] = self._do("status", "phase_costs", locals())
        return done

    def behind(self) -> list[dict[str, Any]]:
        """The derived tables that are behind what they are made from, such as a LinkDb that lacks
        segments: why, and the command that brings each up to date. Only those that the crawl
        has.

        >>> [table["command"] for table in web.behind()]
        """
        done: list[dict[str, Any]] = self._do("status", "behind", locals())
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
        done: dict[str, Any] = self._do("dust", "dust", locals())
        return done

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
        done: dict[str, Any] = self._do("mirrors", "mirrors", locals())
        return done

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
        done: dict[str, Any] = self._do("domainstats", "domainstats", locals())
        return done

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
        done: dict[str, Any] = self._do("crawlcomplete", "crawlcomplete", locals())
        return done

    def protocolstats(
        self, *, plot: str | Path | None = None, snapshot: int | None = None
    ) -> dict[str, Any]:
        """Count the URLs of the crawl by the HTTP code of their last answer, and those of each code
        by status; UNFETCHED are those that never gave one.

        `plot`: Draw a picture: FILE.svg, .png or .pdf (extra `plot`).

        `snapshot`: Read this snapshot instead of the current.

        >>> web.protocolstats()["codes"]["200"]
        """
        done: dict[str, Any] = self._do("protocolstats", "protocolstats", locals())
        return done

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
        done: dict[str, Any] = self._do("linkstats", "linkstats", locals())
        return done
