"""parse: a segment's content becomes parse_data, parse_text and crawl_parse.

One task for some content files, each with a child process that does the parsing. All that
the tasks wrote becomes the segment's state by one write (Segment.publish_parsed); so a
segment that is parsed again shows its old parse until then, and never parts of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import partial

from crawl.clock import Clock, SystemClock
from crawl.config import Config
from crawl.config.properties import CRAWLDB_BUCKETS
from crawl.driver.empty_results import parse_remarks
from crawl.driver.observed import observed
from crawl.driver.timing import timed
from crawl.errors import NothingToDo, StorageError, UsageError
from crawl.hints import command
from crawl.model.derived_tables import INDEX, LINKDB, WEBGRAPH
from crawl.model.report import Report
from crawl.parsing.plan import ParsePlan
from crawl.phases.parse.options import ParseOptions
from crawl.phases.parse.tasks import ParseTask, ParseTaskResult, run_parse_task
from crawl.storage.crawl_dir import CrawlDir, locked
from crawl.storage.folder import Folder
from crawl.storage.segments import (
    CONTENT,
    FETCH,
    GENERATE,
    PARSE,
    PARSED,
    PartFile,
    PartManifest,
    Segment,
    segment_name,
)
from crawl.tables.runner import Runner
from crawl.telemetry.context import update_context

PROGRESS = "crawl_parse/progress"
"""Marks of the tasks of a parse under way."""

_MARK_EVERY_S = 1.0
_TASK_BYTES = 8 << 20
"""Smaller files are parsed by one task: starting a parser is worth some thousand pages."""


@dataclass(frozen=True, slots=True)
class ParseResult:
    """The segment's new state."""

    segment: str
    report: Report
    took_over: str | None
    remarks: tuple[str, ...] = ()
    """Why hardly a page was parsed, or hardly a link is left; what was made of the old parse."""


def check(config: Config) -> None:
    """Raises what is wrong with the settings, before anything is started."""
    ParsePlan.from_config(config)


def choose(crawl_dir: CrawlDir, name: str | None, *, reparse: bool = False) -> Segment:
    """The named segment, or the oldest that is fetched and not parsed."""
    where = crawl_dir.address
    if name is not None:
        segment = crawl_dir.segments.segment(segment_name(name))
        segment.require(GENERATE)
        fetched = segment.manifest(FETCH)
        if fetched is None or not fetched.complete:
            how = "not fetched: start" if fetched is None else "not wholly fetched: go on"
            raise UsageError(
                f"{segment.folder.address} is {how} with `{command('fetch', where, segment.name)}`"
            )
        # a fetch that parsed may have been interrupted, and gone on without parsing
        is_parsed = segment.is_complete(PARSE)
        if is_parsed and not reparse:
            raise UsageError(
                f"{segment.folder.address} is parsed already: --reparse parses it again"
            )
        if is_parsed and segment.require(PARSE).rows and not _has_content(segment):
            raise UsageError(
                f"{segment.folder.address} was parsed as it was fetched, and its pages were not"
                " stored (fetcher.store.content): they cannot be parsed again"
            )
        return segment
    if reparse:
        raise UsageError("--reparse needs the name of the segment that is to be parsed again")
    for segment in crawl_dir.segments.generated():
        if segment.is_complete(FETCH) and not segment.is_complete(PARSE):
            return segment
    raise NothingToDo(f"{where} has no segment that is fetched and not parsed")


def _has_content(segment: Segment) -> bool:
    stored = segment.manifest(CONTENT)
    return stored is not None and stored.rows > 0


@observed("parse")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: ParseOptions, clock: Clock
) -> ParseResult:
    """Parses the segment and publishes what came of it."""
    segment = choose(crawl_dir, options.segment, reparse=options.reparse)
    update_context(segment=segment.name)
    report = Report("parse", clock.now_ms(), config.digest(), asdict(options))
    parsing = ParsePlan.from_config(
        config, filter_urls=options.filter, normalize_urls=options.normalize
    )
    with locked(segment.folder, "parse", config, clock, steal_lock=options.steal_lock) as lock:
        held = segment.held_by(lock)
        choose(crawl_dir, segment.name, reparse=options.reparse)  # nobody was quicker
        snapshot = crawl_dir.crawldb.current()
        buckets = config[CRAWLDB_BUCKETS] if snapshot is None else snapshot.buckets
        task = ParseTask(segment.folder, parsing, buckets)
        groups = grouped(segment.require(CONTENT).files)
        segment.folder.delete(PROGRESS)  # of a parse that died
        with timed(report, "parse", clock):
            parts = runner.run(partial(_parse_group, task), list(enumerate(groups)), "parse")
        for part in parts:
            report.counters.update(part.counters)
        report.finished_ms = clock.now_ms()
        lock.verify()
        is_replaced = options.reparse and segment.is_complete(PARSE)
        publish(held, parts, report, clock)
        segment.folder.delete(PROGRESS)
        remarks = parse_remarks(crawl_dir.address, segment.name, report.counters)
        if is_replaced:
            remarks += _made_of_the_old(crawl_dir, segment.name)
        return ParseResult(segment.name, report, lock.took_over, tuple(remarks))


_TAKE_SEGMENTS_IN = (
    (LINKDB, "invertlinks", ("--again",)),
    (WEBGRAPH, "webgraph", ("--again",)),
    (INDEX, "index", ()),
)
"""Tables that take a segment's parse in once, and the options with which they do so again."""


def _made_of_the_old(crawl_dir: CrawlDir, segment: str) -> list[str]:
    """Tables that have the parse that was replaced; they count the segment as taken in."""
    commands = []
    for table, step, options in _TAKE_SEGMENTS_IN:
        try:
            snapshot = crawl_dir.dataset(table).current()
        except StorageError:  # `crawl check` tells of it
            continue
        if snapshot is not None and segment in snapshot.applied:
            commands.append(f"`{command(step, crawl_dir.address, segment, *options)}`")
    if not commands:
        return []
    return [f"what was made of the parse before stays as it is until {', '.join(commands)}"]


def _parse_group(task: ParseTask, group: tuple[int, tuple[PartFile, ...]]) -> ParseTaskResult:
    """The work of one task, which leaves marks of how far it is."""
    number, files = group
    marks = _Marks(task.segment, number)
    parsed = run_parse_task(task, files, marks.pages)
    marks.put(sum(file.rows for file in files))
    return parsed


class _Marks:
    """How many pages a task has parsed, for progress displays: an empty file with the number in
    its name, so that a look is one listing."""

    def __init__(self, segment: Folder, number: int, clock: Clock | None = None) -> None:
        self._segment = segment
        self._number = number
        self._clock = clock or SystemClock()
        self._next = self._clock.monotonic()
        self._last = ""

    def pages(self, page_count: int) -> None:
        """Called often; leaves a mark now and then."""
        if self._clock.monotonic() >= self._next:
            self.put(page_count)
            self._next = self._clock.monotonic() + _MARK_EVERY_S

    def put(self, page_count: int) -> None:
        mark = f"{PROGRESS}/{self._number:05d}-{page_count}"
        if mark == self._last:
            return
        self._segment.write(mark, b"")
        if self._last:
            self._segment.delete(self._last)
        self._last = mark


def pages_done(segment: Segment) -> int:
    """How many pages a parse under way has done; of a task that is tried again what the first
    attempt had done counts until the second has done more."""
    furthest: dict[str, int] = {}
    for mark in segment.folder.names(PROGRESS):
        number, _, pages = mark.partition("-")
        furthest[number] = max(furthest.get(number, 0), int(pages))
    return sum(furthest.values())


def grouped(files: Iterable[PartFile]) -> list[tuple[PartFile, ...]]:
    """Files that one task parses, the largest tasks first; files of one fetch list part stay
    together as far as they fit."""
    groups: list[list[PartFile]] = []
    room = 0
    for file in sorted(files, key=lambda file: (file.part, file.path)):
        if not groups or file.bytes > room:
            groups.append([])
            room = _TASK_BYTES
        groups[-1].append(file)
        room -= file.bytes
    return sorted(map(tuple, groups), key=lambda group: -sum(file.bytes for file in group))


def publish(
    segment: Segment, parts: Iterable[ParseTaskResult], report: Report, clock: Clock
) -> None:
    """Makes the files of these parts the segment's parse."""
    now = clock.now_ms()
    written = list(parts)
    manifests = {
        table: PartManifest.of_pieces(
            ((part.part, part.pieces.get(table)) for part in written), now
        )
        for table in PARSED
    }
    segment.write_report(PARSE, report)
    segment.publish_parsed(manifests)
    for table, manifest in manifests.items():
        segment.sweep(table, manifest)
