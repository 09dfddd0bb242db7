"""export: pages become records of a dataset, for machine learning and for search by meaning.

Steps: keys (a task a file of a segment) → select (a task a shard of the URLs) → write (a task a
part of a parse, where the text lies) → publish: files that nobody told about are swept away, the
manifest names the others, `_SUCCESS` says that all is there. A job that died leaves no `_SUCCESS`,
and the next one begins anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import attrgetter

from crawl.clock import Clock, as_text
from crawl.config import Config
from crawl.driver.empty_results import pages_remarks
from crawl.driver.observed import observed
from crawl.driver.segment_choice import ChosenSegments, choose_segments, require_some
from crawl.driver.timing import timed
from crawl.errors import UsageError
from crawl.hints import command
from crawl.interfaces.chains import FilterChain
from crawl.model.report import Report
from crawl.parsing.fields.rule_file import FILE as FIELDS_FILE
from crawl.parsing.fields.rule_file import field_rules
from crawl.phases.export.options import ExportOptions
from crawl.phases.export.settings import EXPORT_FILE_RECORDS, EXPORT_MARKDOWN_FILES
from crawl.phases.export.tasks import output as export_folder
from crawl.phases.export.tasks.part import DATA, GONE, ExportJob, ExportTaskResult, export_part
from crawl.phases.export.tasks.record import RecordMaker
from crawl.phases.export.tasks.selection import SelectionJob, SelectionTask, select_shard
from crawl.phases.export.values import ChunkUnit, ExportedFile, ExportFormat, TextKind
from crawl.phases.index.choice import parsed_once
from crawl.phases.index.rules import IndexRules
from crawl.phases.index.tasks.decide import DecideJob, files_of_shard
from crawl.phases.index.tasks.keys import KeysJob, exchange_keys
from crawl.storage.crawl_dir import CrawlDir, locked
from crawl.storage.folder import Folder, absolute
from crawl.storage.lock import Lock
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner
from crawl.telemetry.context import update_context

_SHARD_ROWS = 500_000
_FEWEST_SHARDS = 8


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What was exported."""

    output: str
    records: int
    files: tuple[ExportedFile, ...]
    report: Report
    segments: tuple[str, ...]
    remarks: tuple[str, ...]
    took_over: str | None


def check(config: Config, options: ExportOptions) -> None:
    """Raises what is wrong with the options, before anything is started."""
    if options.chunk is not None and options.format in (ExportFormat.MARKDOWN, ExportFormat.WET):
        raise UsageError(f"--chunk: a file of {options.format.value} holds whole pages")
    if options.format is ExportFormat.MARKDOWN and options.text_kind is not TextKind.MARKDOWN:
        raise UsageError("--format markdown writes Markdown: leave out --text")
    if options.chunk is None and options.chunk_unit is not ChunkUnit.CHARACTERS:
        raise UsageError("--chunk-unit: what chunks are measured in; say how long with --chunk")
    if options.since is not None and options.segments:
        raise UsageError("--since takes in all segments: name none")
    if options.filter:
        FilterChain.from_config(config)
    field_rules(config)
    export_folder.require_room(_folder(options), overwrite=options.overwrite)


def _folder(options: ExportOptions) -> Folder:
    return Folder(absolute(options.output))


def choose(crawl_dir: CrawlDir, options: ExportOptions) -> ChosenSegments:
    """The segments to export; raises where there is none, or where a named one, or the
    snapshot, cannot be meant."""
    _Since.of(crawl_dir, crawl_dir.require_crawldb(), options.since)
    rule = parsed_once(crawl_dir, "the export", ("export", "exports", "exported"))
    return require_some(choose_segments(crawl_dir, options.segments, {}, rule), crawl_dir, rule)


@observed("export")
def run(
    runner: Runner, crawl_dir: CrawlDir, config: Config, options: ExportOptions, clock: Clock
) -> ExportResult:
    """Exports the newest parse of every page that may be indexed."""
    report = Report("export", clock.now_ms(), config.digest(), asdict(options))
    check(config, options)
    output = _folder(options)
    crawldb = crawl_dir.require_crawldb()
    since = _Since.of(crawl_dir, crawldb, options.since)
    choice = choose(crawl_dir, options)
    update_context(segment=" ".join(choice.names))
    with locked(output, "export", config, clock, steal_lock=options.steal_lock) as lock:
        export_folder.require_room(output, overwrite=options.overwrite)
        source = _Source(crawl_dir, crawldb, since, choice)
        with timed(report, "export", clock):
            written = _export(runner, config, options, source, report)
        files = _publish(options, source, written, report, clock, lock)
    remarks = [*choice.remarks, *(since.remarks(choice) if since else ())]
    if report.counters["skipped.not_in_crawldb"]:
        remarks.append(
            f"{report.counters['skipped.not_in_crawldb']:,} pages are not in the CrawlDb and were"
            f" not exported: `{command('updatedb', crawl_dir.address)}` first"
        )
    if since is None:
        pages = report.counters["pages"]
        remarks += pages_remarks(crawl_dir.address, "export", pages, report.counters)
    remarks += _field_remarks(config, report)
    return ExportResult(
        options.output,
        report.counters["records"],
        files,
        report,
        choice.names,
        tuple(remarks),
        lock.took_over,
    )


_WHY = "`crawl parsechecker` tells why a rule finds nothing"
_SHOWN_COLUMNS = 5


def _field_remarks(config: Config, report: Report) -> list[str]:
    """Of columns that are empty, as where rules came after the parse."""
    counters, source = report.counters, config[FIELDS_FILE]
    columns = field_rules(config).columns()
    if not columns or not counters["pages"]:
        return []
    if not counters["fields.pages"]:
        return [
            f"no page has a field of {source}: fields are taken when a page is parsed, so pages"
            " that were parsed before must be parsed again (`crawl parse DIR SEGMENT --reparse`);"
            f" {_WHY}"
        ]
    remarks = []
    by_other_rules = {each.name: counters[f"fields.of_other_rules.{each.name}"] for each in columns}
    if others := sum(by_other_rules.values()):
        remarks.append(
            f"{others:,} values of fields are not of the kind that {source} says now: they were"
            " taken by other rules, and their columns are empty"
        )
    absent = [
        each.column
        for each in columns
        if not counters[f"fields.found.{each.name}"] and not by_other_rules[each.name]
    ]
    if absent:
        shown, more = ", ".join(absent[:_SHOWN_COLUMNS]), len(absent) - _SHOWN_COLUMNS
        remarks.append(
            f"no page has a value of {shown}{f' and {more:,} more' if more > 0 else ''}: if these"
            f" rules came after the parse, `crawl parse DIR SEGMENT --reparse`; else {_WHY}"
        )
    return remarks


@dataclass(frozen=True, slots=True)
class _Since:
    """The state since which changes are exported."""

    number: int
    snapshot: Snapshot | None
    """None where it is no longer kept: then the segments alone tell what was there."""
    segments: frozenset[str]
    """That the CrawlDb had taken in by then."""

    @classmethod
    def of(cls, crawl_dir: CrawlDir, crawldb: Snapshot, number: int | None) -> _Since | None:
        if number is None:
            return None
        if number > crawldb.number:
            raise UsageError(f"--since {number}: the CrawlDb's newest snapshot is {crawldb.number}")
        if number in crawl_dir.crawldb.timeline().numbers:
            snapshot = crawl_dir.crawldb.snapshot(number)
            return cls(number, snapshot, frozenset(snapshot.applied))
        names = (name for name, since in crawldb.applied.items() if since <= number)
        return cls(number, None, frozenset(names))

    def remarks(self, choice: ChosenSegments) -> list[str]:
        lines = []
        if self.snapshot is None:
            lines.append(
                f"snapshot {self.number} is no longer kept (crawldb.snapshots.keep): what was"
                " exported then is told from its segments, and dedup's verdicts since are not"
                " noticed where a page did not change"
            )
        missing = sorted(self.segments - set(choice.names))
        if missing:
            lines.append(
                f"{len(missing)} segments of snapshot {self.number} are no longer there (the first:"
                f" {missing[0]}): pages that only they had are not told to be gone, and count as"
                " new where newer segments have them"
            )
        return lines


@dataclass(frozen=True, slots=True)
class _Source:
    """What is exported."""

    crawl_dir: CrawlDir
    crawldb: Snapshot
    since: _Since | None
    choice: ChosenSegments


def _export(
    runner: Runner, config: Config, options: ExportOptions, source: _Source, report: Report
) -> list[ExportTaskResult]:
    output, crawldb, since = _folder(options), source.crawldb, source.since
    shards = _shard_count(crawldb)
    parts, sent = exchange_keys(
        runner,
        KeysJob(shards, signatures=since is not None),
        source.choice.segments,
        source.crawl_dir.segments.folder,
        "export: keys",
    )
    tasks = largest_first(
        SelectionTask(
            number,
            files_of_shard(crawldb, number, shards),
            files_of_shard(since.snapshot if since else None, number, shards),
        )
        for number in range(shards)
    )
    selection = _selection_job(config, options, source, shards, len(parts))
    selected = sent.send(
        partial(select_shard, selection),
        [(task.number, task) for task in tasks],
        len(parts),
        "export: select",
    )
    _require_few_files(config, options, int(selected.row_counts().sum()))
    export_folder.make_room(output)  # an earlier export is there until this one is begun
    job = ExportJob(
        output,
        options.format,
        RecordMaker(
            options.text_kind, options.chunk, options.chunk_unit, field_rules(config).columns()
        ),
        config[EXPORT_FILE_RECORDS],
    )
    counts = selected.row_counts()
    busy = [part for part in largest_first(parts) if counts[part.number]]
    written: list[ExportTaskResult] = selected.run(
        partial(export_part, job), [(part.number, part) for part in busy], "export: write"
    )
    for counters in (*sent.results(), *selected.results(), *(each.counters for each in written)):
        report.counters += counters
    return written


def _selection_job(
    config: Config, options: ExportOptions, source: _Source, shards: int, parts: int
) -> SelectionJob:
    folder, since, segments = source.crawl_dir.crawldb.folder, source.since, source.choice.segments
    filters = FilterChain.from_config(config) if options.filter else None
    applied = tuple(segment.name in source.crawldb.applied for segment in segments)
    rules = IndexRules(delete_noindex=False)
    now = DecideJob(shards, parts, rules, applied, folder, None, filters)
    if since is None:
        return SelectionJob(now)
    old = tuple(segment.name in since.segments for segment in segments)
    is_kept = since.snapshot is not None
    rules = IndexRules(delete_noindex=False, uses_crawldb=is_kept)
    there = folder if is_kept else None
    before = DecideJob(shards, parts, rules, old, there, None, filters)
    return SelectionJob(now, before, old)


def _shard_count(crawldb: Snapshot) -> int:
    """The least number that divides the CrawlDb's buckets and leaves no shard too large."""
    least = max(_FEWEST_SHARDS, crawldb.rows // _SHARD_ROWS)
    fitting = (count for count in range(least, crawldb.buckets + 1) if crawldb.buckets % count == 0)
    return next(fitting, crawldb.buckets)


def _require_few_files(config: Config, options: ExportOptions, pages: int) -> None:
    most = config[EXPORT_MARKDOWN_FILES]
    if options.format is ExportFormat.MARKDOWN and pages > most:
        raise UsageError(
            f"{pages:,} pages are too many for a file each ({EXPORT_MARKDOWN_FILES.name} ="
            f" {most:,}): use --format jsonl --text markdown"
        )


def _publish(
    options: ExportOptions,
    source: _Source,
    written: Sequence[ExportTaskResult],
    report: Report,
    clock: Clock,
    lock: Lock,
) -> tuple[ExportedFile, ...]:
    output, since = _folder(options), source.since
    files = tuple(sorted((file for each in written for file in each.files), key=attrgetter("path")))
    paths = [file.path for file in files]
    swept = export_folder.sweep(output, GONE, paths)
    if options.format is not ExportFormat.MARKDOWN:
        swept += export_folder.sweep(output, DATA, paths)
    if swept:
        report.counters["attempts_swept"] += swept
    report.finished_ms = clock.now_ms()
    lock.verify()
    export_folder.publish(
        lock.folder,
        {
            "format": options.format.value,
            "text": options.text_kind.value,
            "chunk": options.chunk,
            "chunk_unit": options.chunk_unit.value if options.chunk else None,
            "crawldb_snapshot": source.crawldb.number,
            "since": since.number if since else None,
            "segments": list(source.choice.names),
            "finished_at": as_text(report.finished_ms),
            "pages": report.counters["pages"],
            "records": report.counters["records"],
            "gone": report.counters["gone"],
            "files": [asdict(file) for file in files],
            "counters": dict(sorted(report.counters.items())),
        },
    )
    return files
