"""crawl readlinkdb."""

from __future__ import annotations

import click

from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import echo, echo_columns, print_json, remark
from crawl.cli.common.url_lines import decoded_argument
from crawl.config import Config
from crawl.driver.output_folder import make_room
from crawl.errors import UsageError
from crawl.model.dump_format import DumpFormat
from crawl.phases.invertlinks.linkdb import linkdb_of, require_linkdb
from crawl.phases.invertlinks.tasks.dump import LinkDumpJob
from crawl.printable import printable
from crawl.readers.patterns import checked_regex
from crawl.readers.readlinkdb import run as readlinkdb
from crawl.readers.readlinkdb.inlinks import inlinks_of
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder, absolute

NOT_FOUND = 1


@click.command("readlinkdb")
@crawl_dir_argument
@click.option("--url", help="The pages that link to this URL. Exit code 1 if there is none.")
@click.option("--dump", metavar="FOLDER", help="Write the links to a new folder.")
@click.option(
    "--format",
    "dump_format",
    type=click.Choice([f.value for f in DumpFormat]),
    help="With --dump: of its files. parquet and csv have a row a link, json and text one a URL;"
    " csv and text escape what terminals and spreadsheets would obey.  [default: parquet]",
)
@click.option("--regex", help="With --dump: only URLs that match as a whole (RE2 syntax).")
@click.option("--overwrite", is_flag=True, help="With --dump: replace an older dump in FOLDER.")
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    url: str | None,
    dump: str | None,
    dump_format: str | None,
    regex: str | None,
    overwrite: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Look at the LinkDb of CRAWL_DIR. One of --url and --dump.

    The pages that link to a URL come best-scored first, and from one file, however large
    the LinkDb is.

    \b
    Examples:
      crawl readlinkdb mycrawl --url https://example.org/
      crawl readlinkdb mycrawl --url https://example.org/ --json
      crawl readlinkdb mycrawl --dump out --format text --regex 'https://example\\.org/.*'
    """
    if (url is None) == (dump is None):
        raise UsageError("give one of --url and --dump FOLDER")
    directory = CrawlDir(crawl_dir)
    if url is not None:
        for option, given in (
            ("--format", dump_format),
            ("--regex", regex),
            ("--overwrite", overwrite),
        ):
            if given:
                raise UsageError(f"{option} goes with --dump, not with --url")
        return _show_url(directory, decoded_argument(url), config, as_json=as_json)
    assert dump is not None
    snapshot = require_linkdb(directory)
    job = LinkDumpJob(
        linkdb_of(directory).folder,
        Folder(absolute(dump)),
        DumpFormat(dump_format or "parquet"),
        checked_regex(regex),
    )
    make_room(job.output, overwrite=overwrite)
    with spark.runner("readlinkdb", config, rows=snapshot.rows) as runner:
        rows = readlinkdb.dump(runner, directory, job)
    if as_json:
        print_json({"links": rows, "folder": dump})
    else:
        remark(f"readlinkdb: {rows:,} {'link' if rows == 1 else 'links'} in {dump}")
    return 0


def _show_url(directory: CrawlDir, url: str, config: Config, *, as_json: bool) -> int:
    found = inlinks_of(directory, url, config)
    if found is None:
        remark(f"readlinkdb: the LinkDb knows no link to {printable(url)}")
    if as_json:
        print_json(found)
    elif found is not None:
        echo_columns(found["url"], "Inlinks:")
        for link in found["inlinks"]:
            source, anchor = printable(link["fromUrl"]), printable(link["anchor"])
            echo(f" fromUrl: {source} anchor: {anchor}")
    return NOT_FOUND if found is None else 0
