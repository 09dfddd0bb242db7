"""A task of an export: the wanted pages of one part of a segment's parse become files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO

import pyarrow as pa

from crawl.counters import Counters
from crawl.model.builders import rows_of
from crawl.phases.export.tasks.formats.jsonl import JsonlSink
from crawl.phases.export.tasks.formats.markdown_files import MarkdownFiles
from crawl.phases.export.tasks.formats.parquet import ParquetSink
from crawl.phases.export.tasks.formats.wet import WetSink
from crawl.phases.export.tasks.formats.writing import PartWriter, RecordSink
from crawl.phases.export.tasks.part_pages import read_pages
from crawl.phases.export.tasks.record import Record, RecordMaker, gone_record, schema_of
from crawl.phases.export.tasks.selection import EXPORTED, Change
from crawl.phases.export.values import ExportedFile, ExportFormat
from crawl.phases.index.tasks.keys import SegmentPart
from crawl.storage.folder import Folder
from crawl.tables.exchange import Received

DATA, GONE = "data", "gone"
"""Folders of an export: its records; and pages that are gone, where the format cannot tell."""

_SINKS: dict[ExportFormat, tuple[str, Callable[[IO[bytes]], RecordSink]]] = {
    ExportFormat.JSONL: (".jsonl.gz", JsonlSink),
    ExportFormat.PARQUET: (".parquet", ParquetSink),
    ExportFormat.WET: (".warc.wet.gz", WetSink),
}
_TELL_OF_GONE = (ExportFormat.JSONL, ExportFormat.PARQUET)


@dataclass(frozen=True, slots=True)
class ExportJob:
    """An export: where it goes, in which format, what makes the records, and how many a file
    holds."""

    output: Folder
    format: ExportFormat
    maker: RecordMaker
    most: int
    """Records in a file."""


@dataclass(frozen=True, slots=True)
class ExportTaskResult:
    """What a task wrote."""

    files: tuple[ExportedFile, ...]
    counters: Counters


def export_part(job: ExportJob, part: SegmentPart, received: Received) -> ExportTaskResult:
    """Writes the records of the pages that are wanted of this part."""
    counters = Counters()
    requests = received.rows(EXPORTED)
    is_gone = requests["row"].to_numpy() < 0
    files: list[ExportedFile] = []
    with (
        _writing(job, part, files) as write,
        _files(job, part, files, GONE, ExportFormat.JSONL) as write_aside,
    ):
        write_gone = write if job.format in _TELL_OF_GONE else write_aside
        present = requests.filter(pa.array(~is_gone))
        if present.num_rows:
            for page in read_pages(part, present, markup=job.maker.needs_markup):
                for record in job.maker.records(page, counters):
                    if record["change"] == Change.GONE:
                        write_gone(record)
                        continue
                    counters["records"] += 1
                    write(record)
        for url, host, time in rows_of(requests.filter(pa.array(is_gone)), ("url", "host", "time")):
            write_gone(gone_record(url, host, time))
    return ExportTaskResult(tuple(files), counters)


@contextmanager
def _writing(
    job: ExportJob, part: SegmentPart, files: list[ExportedFile]
) -> Iterator[Callable[[Record], None]]:
    """How a record is written; when the block ends well, `files` has what became of them."""
    if job.format is not ExportFormat.MARKDOWN:
        with _files(job, part, files, DATA, job.format) as write:
            yield write
        return
    pages = MarkdownFiles(job.output.child(DATA))
    yield pages.write
    if pages.records:
        files.append(ExportedFile(DATA, pages.records, pages.bytes))


@contextmanager
def _files(
    job: ExportJob, part: SegmentPart, files: list[ExportedFile], below: str, format: ExportFormat
) -> Iterator[Callable[[Record], None]]:
    suffix, sink = _SINKS[format]
    if format is ExportFormat.PARQUET:
        sink = partial(ParquetSink, schema=schema_of(job.maker.fields))
    place = f"part-{part.number:05d}"
    new_writer = partial(PartWriter, job.output.child(below), place, suffix, sink, job.most)
    with new_writer() as writer:
        yield writer.write
    files.extend(
        ExportedFile(f"{below}/{file.path}", file.records, file.bytes) for file in writer.files
    )
