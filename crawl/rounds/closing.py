"""What a round came to, by the reports of its phases: an earlier process may have run some."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.counters import Counters
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.model.report import PER_HOST_OVERFLOW, Report
from crawl.phases.updatedb.rules import Event
from crawl.rounds.results import RoundResult
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, PARSE


def closed_round(
    directory: CrawlDir, number: int, result: CrawlDbUpdate, seconds: dict[str, float]
) -> RoundResult:
    """The round that an updatedb has closed; `seconds`: spent on its steps."""
    counted = result.report.counters
    records, left_for_later, fetch_s = _fetched(directory, result.segments)
    parsed = _counted(directory, result.segments, PARSE)
    return RoundResult(
        number=number,
        segments=result.segments,
        fetched=_total(counted, Event.FETCHED, Event.CHANGED, Event.UNPARSABLE),
        not_modified=_total(counted, Event.UNCHANGED, Event.NOT_MODIFIED),
        redirects=_total(counted, Event.MOVED, Event.MOVED_FOR_NOW),
        gone=_total(counted, Event.GONE, Event.GIVEN_UP),
        retried=_total(counted, Event.FAILED),
        left_for_later=left_for_later,
        new=counted["urls_new"],
        pages_truncated=parsed["truncated.length"],
        links_over_limit=parsed["outlinks_dropped.limit"],
        records=records,
        fetch_s=fetch_s,
        db_urls=result.snapshot.rows,
        db_bytes=result.snapshot.bytes,
        seconds=seconds,
    )


def mean_due(report: Report) -> float:
    """Due URLs of a host in the mean, by generate's report: those on the list and those that its
    hosts had no room for."""
    described = report.details.get("segments") or [{}]
    hosts = sum(int(each.get("chains", 0)) for each in described)
    urls = sum(int(each.get("urls", 0)) for each in described)
    return (urls + report.counters[PER_HOST_OVERFLOW]) / hosts if hosts else 0.0


def _fetched(directory: CrawlDir, names: tuple[str, ...]) -> tuple[int, int, float]:
    """Records, returned URLs and seconds of these segments' fetches."""
    counters, seconds = Counters(), 0.0
    for name in names:
        report = directory.segments.segment(name).report(FETCH)
        counters.update(report.get("counters") or {"records": _rows_of(directory, name)})
        seconds += float(report.get("durations_s", {}).get("fetch", 0.0))
    rest = sum(count for name, count in counters.items() if name.startswith("handed_back."))
    return counters["records"], rest, seconds


def _counted(directory: CrawlDir, names: Iterable[str], part: str) -> Counters:
    """The counters of these segments' reports on a phase, added up."""
    total = Counters()
    for name in names:
        total.update(directory.segments.segment(name).report(part).get("counters", {}))
    return total


def _rows_of(directory: CrawlDir, name: str) -> int:
    """The rows of a segment's fetch, by its manifest: for a report that was lost."""
    manifest = directory.segments.segment(name).manifest(FETCH)
    return 0 if manifest is None else manifest.rows


def _total(counters: Counters, *events: Event) -> int:
    return sum(counters[event.value] for event in events)
