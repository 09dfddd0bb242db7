"""crawl export."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import (
    crawl_dir_argument,
    json_option,
    steal_lock_option,
    with_config,
    with_spark,
)
from crawl.cli.common.output import print_json, print_remarks, print_table, remark
from crawl.config import Config
from crawl.facade.results import ExportedDataset
from crawl.phases.export.tasks.values import SHORTEST_CHUNK, ChunkUnit, ExportFormat, TextKind
from crawl.spark.runners import SparkOptions


@click.command("export")
@crawl_dir_argument
@click.argument("output", metavar="OUT")
@click.option(
    "--format",
    "export_format",
    type=click.Choice([each.value for each in ExportFormat]),
    default=ExportFormat.JSONL.value,
    show_default=True,
    help="jsonl and parquet: a record a page; wet: as Common Crawl's; markdown: a file a page.",
)
@click.option(
    "--text",
    type=click.Choice([each.value for each in TextKind]),
    help="Without menus and footers, as text (main) or Markdown, or all text of the page"
    " (full).  [default: main]",
)
@click.option(
    "--since",
    type=click.IntRange(min=0),
    metavar="SNAPSHOT",
    help="Only what is new, changed or gone since this snapshot of the CrawlDb.",
)
@click.option(
    "--chunk",
    type=click.IntRange(min=SHORTEST_CHUNK),
    metavar="N",
    help="A record a chunk of at most N characters, cut at headings, then at paragraphs.",
)
@click.option(
    "--chunk-unit",
    type=click.Choice([each.value for each in ChunkUnit]),
    default=ChunkUnit.CHARACTERS.value,
    show_default=True,
    help="What --chunk counts.",
)
@click.option(
    "--segments", multiple=True, metavar="NAME[,NAME]", help="Only these segments (repeatable)."
)
@click.option("--filter", "filters", is_flag=True, help="Leave out URLs that filters reject today.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier export in OUT.")
@steal_lock_option
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    output: str,
    export_format: str,
    text: str | None,
    since: int | None,
    chunk: int | None,
    chunk_unit: str,
    segments: tuple[str, ...],
    filters: bool,
    overwrite: bool,
    steal_lock: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Write the pages of CRAWL_DIR as a dataset into the folder OUT: clean text or Markdown with
    title, language, dates, licence hints, hashes and quality signals.

    Of each URL the newest parse counts. Pages that are gone, redirected, duplicates, or that ask
    not to be indexed are left out and counted. The records are in OUT/data; OUT/_SUCCESS is
    written last. OUT must be new, or hold an export that was interrupted, or --overwrite.

    \b
    Examples:
      crawl export mycrawl dataset
      crawl export mycrawl dataset --format parquet --text markdown
      crawl export mycrawl chunks --text markdown --chunk 2000
      crawl export mycrawl changes --since 12
      crawl export mycrawl s3://bucket/wet --format wet
      crawl export mycrawl pages --format markdown
    """
    names = tuple(name.strip() for each in segments for name in each.split(",") if name.strip())
    with open_crawl(crawl_dir, config, spark, command="export") as web:
        done = web.export(
            output,
            format=export_format,
            text=text,
            since=since,
            chunk=chunk,
            chunk_unit=chunk_unit,
            segments=names,
            filter=filters,
            overwrite=overwrite,
            steal_lock=steal_lock,
        )
    print_remarks(done)
    if as_json:
        print_json(
            {
                "output": done.output,
                "records": done.records,
                "files": len(done.files),
                "bytes": done.bytes,
                "segments": done.segments,
                "report": done.report,
            }
        )
    else:
        _summarize(done)
    return 0


_FIRST = ("pages", "records", "new", "changed", "gone", "unchanged")
_REASONS = ("skipped.", "text.", "extraction_errors", "attempts_swept")


def _summarize(done: ExportedDataset) -> None:
    counters = done.counters
    rows = [[name, counters[name]] for name in _FIRST if counters[name]]
    rows += [
        [name.replace("_", " "), count]
        for name, count in sorted(counters.items())
        if count and name.startswith(_REASONS)
    ]
    print_table(done.phase, ["event", "pages"], rows)
    remark(
        f"export: wrote {done.records:,} records of {counters['pages']:,} pages to {done.output}"
        f" ({done.bytes:,} bytes)"
    )
