"""Everything that a crawl knows of one URL, and what would become of it next.

Reads the URL's own bucket of the CrawlDb and what segments say of it; sends nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Container
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from crawl.clock import moment
from crawl.config import Config
from crawl.errors import StorageError
from crawl.interfaces.chain_steps import (
    FilterStep,
    NormalizerStep,
    filter_steps,
    normal_form,
    normalizer_steps,
)
from crawl.interfaces.chains import URLNORMALIZER_LOOP_COUNT, FilterChain, NormalizerChain
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records
from crawl.phases.generate.tasks.selection import selection_of
from crawl.phases.generate.tasks.unfinished import unfinished_segments
from crawl.readers.explain.bounds import EvaluateExpressions, KnownHost, known_host
from crawl.readers.explain.robots_verdict import RobotsVerdict
from crawl.readers.explain.segment_lookup import Inlink, SegmentEntry, find_in_segment, find_inlinks
from crawl.readers.explain.selection import GenerateStep, generate_steps, rejection_of
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of
from crawl.storage.manifest import Snapshot
from crawl.storage.segments import FETCH, GENERATE, PARSE, Segment
from crawl.tables.dump import as_record
from crawl.tables.lookup import find_record
from crawl.urls.parse import host_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """What one kept snapshot of the CrawlDb says of the URL."""

    snapshot: int
    created_ms: int
    phase: str
    record: CrawlDatum | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """What the crawl knows of one URL, and what would become of it."""

    asked: str
    url: str
    """Under which it is looked for: as asked, or in normal form if only that is known."""
    normalizing: tuple[NormalizerStep, ...]
    filtering: tuple[FilterStep, ...]
    """What each filter says of the normal form; empty where there is none."""
    history: tuple[SnapshotRecord, ...]
    """The URL's record in each snapshot, the current one last."""
    segments: tuple[SegmentEntry, ...]
    inlinks: tuple[Inlink, ...]
    generating: tuple[GenerateStep, ...]
    """Empty where the CrawlDb does not know the URL."""
    prospect: str
    """One line: what happens next."""
    host: KnownHost
    """What the HostDb knows of its host."""

    @property
    def record(self) -> CrawlDatum | None:
        """The URL's record in the current CrawlDb."""
        return self.history[-1].record

    @property
    def is_known(self) -> bool:
        """Whether the crawl has ever heard of it, as far back as is kept."""
        return bool(self.segments) or any(past.record is not None for past in self.history)


def explain(
    directory: CrawlDir,
    url: str,
    config: Config,
    now_ms: int,
    *,
    most_inlinks: int = 5,
    evaluate: EvaluateExpressions | None = None,
) -> Explanation:
    """Explains the URL as of `now_ms`, with at most `most_inlinks` pages that link to it.
    `evaluate`: has expressions over the HostDb evaluated, which takes Spark."""
    chain = NormalizerChain.from_config(config)
    normalizing = normalizer_steps(chain, url, config[URLNORMALIZER_LOOP_COUNT])
    normal = normal_form(url, normalizing)
    filtering = () if normal is None else filter_steps(FilterChain.from_config(config), normal)

    def explain_state(current: Snapshot) -> Explanation:
        name, row = _row_of(directory, current, url, normal)
        host = known_host(directory, host_of(name) or "", config, evaluate)
        segments = directory.segments.generated()
        mentions = tuple(
            mention
            for segment in segments
            for mention in find_in_segment(segment, name, current.buckets)
        )
        steps: tuple[GenerateStep, ...] = ()
        if row is not None:
            number = bucket_of(host_of(name) or "", current.buckets)
            selection = selection_of(config, now_ms)
            on_lists = {mention.segment for mention in mentions if mention.part == GENERATE}
            unfinished = unfinished_segments(
                (segment for segment in segments if segment.name in on_lists),
                current.applied,
                now_ms,
                selection.reserved_ms,
            )
            steps = generate_steps(
                selection,
                row,
                directory.crawldb.folder,
                current.files_of(number),
                current.hosts_of(number),
                listed_in=unfinished[0].name if unfinished else "",
                own=host.max_count if selection.bounds_hosts else None,
            )
        return Explanation(
            asked=url,
            url=name,
            normalizing=normalizing,
            filtering=filtering,
            history=tuple(_history(directory, current, name, row)),
            segments=mentions,
            inlinks=tuple(_inlinks(segments, mentions, name, most_inlinks)),
            generating=steps,
            prospect=(
                _prospect_of_segments(segments, mentions, current.applied)
                or (_prospect_of_record(steps, row) if row is not None else "")
                or _prospect_of_stranger(normal, filtering)
            ),
            host=host,
        )

    return directory.reading(explain_state)


def _row_of(
    directory: CrawlDir, snapshot: Snapshot, url: str, normal: str | None
) -> tuple[str, pa.Table | None]:
    for name in dict.fromkeys((url, normal)):
        if name is not None:
            row = find_record(directory.crawldb.folder, snapshot, name)
            if row is not None:
                return name, row
    return normal or url, None


def _history(
    directory: CrawlDir, current: Snapshot, url: str, row: pa.Table | None
) -> list[SnapshotRecord]:
    """What a phase left alone is the same file in several snapshots, and is read once."""
    data = {_path_of(current, url): _datum(row)}
    past = []
    for number in directory.crawldb.timeline().numbers:
        try:
            snapshot = current if number == current.number else directory.crawldb.snapshot(number)
        except StorageError as error:
            _log.warning("%s; explained without it", error)
            continue
        path = _path_of(snapshot, url)
        if path not in data:
            data[path] = _datum(find_record(directory.crawldb.folder, snapshot, url))
        past.append(SnapshotRecord(number, snapshot.created_ms, snapshot.phase, data[path]))
    return past


def _path_of(snapshot: Snapshot, url: str) -> str:
    file = snapshot.file_for(bucket_of(host_of(url) or "", snapshot.buckets), url)
    return "" if file is None else file.path


def _datum(row: pa.Table | None) -> CrawlDatum | None:
    return None if row is None else next(to_records(row))[1]


def _inlinks(
    segments: list[Segment], mentions: tuple[SegmentEntry, ...], url: str, most: int
) -> list[Inlink]:
    """The newest first; only segments that have links to the URL are looked through."""
    linking = {mention.segment for mention in mentions if mention.links}
    inlinks: list[Inlink] = []
    for segment in reversed(segments):
        if segment.name in linking and len(inlinks) < most:
            inlinks += find_inlinks(segment, url, most - len(inlinks))
    return inlinks


# what happens next


def _prospect_of_segments(
    segments: list[Segment], mentions: tuple[SegmentEntry, ...], applied: Container[str]
) -> str:
    """What the oldest segment whose round is not closed has in store for the URL."""
    for segment in segments:
        if segment.name in applied:
            continue
        parts = {mention.part for mention in mentions if mention.segment == segment.name}
        if not parts:
            continue
        fetched = segment.manifest(FETCH)
        if fetched is None or not fetched.complete:
            if FETCH not in parts:
                return f"fetched with segment {segment.name} (`crawl fetch`)"
        elif parts == {GENERATE}:
            continue  # handed back by the fetch: it is due after the update
        if not segment.is_done(PARSE):
            return f"parsed with segment {segment.name} (`crawl parse`)"
        return f"taken into the CrawlDb with segment {segment.name} (`crawl updatedb`)"
    return ""


def _prospect_of_record(steps: tuple[GenerateStep, ...], row: pa.Table) -> str:
    rejection = rejection_of(steps)
    if rejection is None:
        return "may be selected by the next generate"
    datum = _datum(row)
    if rejection.reason == "schedule_rejected" and datum is not None:
        return f"may be selected by generate from {moment(datum.fetch_time)} on"
    return f"not selected by generate: {rejection.reason} ({rejection.detail})"


def _prospect_of_stranger(normal: str | None, filtering: tuple[FilterStep, ...]) -> str:
    if normal is None:
        return "never crawled: no URL that could be"
    for step in filtering:
        if step.reason is not None:
            return f"never crawled: rejected by the filter {step.plugin} ({step.reason})"
    return "unknown until a seed or a page names it"


def explanation_values(explanation: Explanation, robots: RobotsVerdict) -> dict[str, Any]:
    """Under the keys of `crawl explain --json`."""
    return {
        "asked": explanation.asked,
        "url": explanation.url,
        "known": explanation.is_known,
        "record": _record(explanation.url, explanation.record),
        "next": explanation.prospect,
        "robots": {
            "allowed": robots.allowed,
            "told": robots.detail,
            "crawl_delay_s": robots.crawl_delay_s,
            "asked": None if robots.asked_ms is None else moment(robots.asked_ms),
        },
        "host": _host(explanation.host),
        "history": [
            {
                "snapshot": past.snapshot,
                "created": moment(past.created_ms),
                "phase": past.phase,
                "record": _record(explanation.url, past.record),
            }
            for past in explanation.history
        ],
        "segments": [
            {
                "segment": mention.segment,
                "part": mention.part,
                "records": [as_record(explanation.url, datum) for datum in mention.records],
                "links": mention.links,
                "facts": {name: _plain(value) for name, value in mention.facts.items()},
            }
            for mention in explanation.segments
        ],
        "inlinks": [asdict(link) for link in explanation.inlinks],
        "normalizers": [asdict(step) for step in explanation.normalizing],
        "filters": [asdict(step) for step in explanation.filtering],
        "generate": [asdict(step) for step in explanation.generating],
    }


def _host(host: KnownHost) -> dict[str, Any]:
    return {
        "host": host.host,
        "hostdb": host.snapshot,
        "values": host.values,
        "max_count": host.max_count.value,
        "max_count_because": host.max_count.why,
        "fetch_delay_ms": host.delay_ms.value,
        "fetch_delay_because": host.delay_ms.why,
    }


def _record(url: str, datum: CrawlDatum | None) -> dict[str, Any] | None:
    return None if datum is None else as_record(url, datum)


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
