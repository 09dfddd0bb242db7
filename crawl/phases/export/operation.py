"""export as an operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crawl.errors import UsageError
from crawl.operations.operation import Asked, Operation
from crawl.operations.results import PhaseResult
from crawl.operations.view import Note, Table, View
from crawl.operations.work import Work
from crawl.phases.export.options import ExportOptions
from crawl.phases.export.values import ExportedFile


@dataclass(frozen=True, slots=True)
class ExportedDataset(PhaseResult):
    """What an export wrote."""

    output: str = ""
    """The folder; its records are in `data`."""
    records: int = 0
    files: tuple[ExportedFile, ...] = ()
    """Of Markdown files, their folder for each task."""

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)


def run(work: Work, options: ExportOptions) -> ExportedDataset:
    from crawl.driver.derived import behind_lines
    from crawl.driver.prechecks import require_segments, require_unlocked
    from crawl.phases.export import run as driver
    from crawl.storage.folder import Folder, absolute

    if not options.output:
        raise UsageError("output: expected a path or an address, got ''")
    directory = work.directory
    directory.require_crawldb()
    require_segments(directory, options.segments)
    driver.check(work.config, options)
    driver.choose(directory, options)
    output = Folder(absolute(options.output))
    require_unlocked(output, work.config, steal_lock=options.steal_lock)
    behind = behind_lines(directory, ("scoreupdater", "dedup"))
    with work.runner() as runner:
        export = driver.run(runner, directory, work.config, options, work.clock)
    return ExportedDataset.of(
        export.report,
        segments=export.segments,
        remarks=(*export.remarks, *behind, export.took_over),
        output=export.output,
        records=export.records,
        files=export.files,
    )


def values(result: ExportedDataset, asked: Asked) -> dict[str, Any]:
    """The result for programs, ready for JSON."""
    return {
        "output": result.output,
        "records": result.records,
        "files": len(result.files),
        "bytes": result.bytes,
        "segments": result.segments,
        "report": result.report,
    }


_FIRST = ("pages", "records", "new", "changed", "gone", "unchanged")
_REASONS = ("skipped.", "text.", "extraction_errors", "attempts_swept")


def render(result: ExportedDataset, asked: Asked) -> View:
    """What became of the pages."""
    counters = result.counters
    rows = [[name, counters[name]] for name in _FIRST if counters[name]]
    rows += [
        [name.replace("_", " "), count]
        for name, count in sorted(counters.items())
        if count and name.startswith(_REASONS)
    ]
    return [
        Table("export", ["event", "pages"], rows),
        Note(
            f"wrote {result.records:,} records of {counters['pages']:,} pages to {result.output}"
            f" ({result.bytes:,} bytes)"
        ),
    ]


OPERATION = Operation(
    name="export",
    run=run,
    render=render,
    values=values,
    uses_spark=True,
    help="""
    Write the pages of CRAWL_DIR as a dataset into the folder OUT: clean text or Markdown with
    title, language, dates, licence hints, hashes and quality signals.

    Of each URL the newest parse counts. Pages that are gone, redirected, duplicates, or that ask
    not to be indexed are left out and counted. The records are in OUT/data; OUT/_SUCCESS is
    written last. OUT must be new, or hold an export that was interrupted, or --overwrite.
    """,
    examples=(
        "crawl export mycrawl dataset",
        "crawl export mycrawl dataset --format parquet --text markdown",
        "crawl export mycrawl chunks --text markdown --chunk 2000",
        "crawl export mycrawl changes --since 12",
        "crawl export mycrawl s3://bucket/wet --format wet",
        "crawl export mycrawl pages --format markdown",
    ),
    calls=('web.export("dataset", format="parquet", text="markdown", overwrite=True).records',),
)
