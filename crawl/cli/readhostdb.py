"""crawl readhostdb."""

from __future__ import annotations

import click

from crawl.cli.common.opening import open_crawl
from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import echo, print_json, print_table, remark
from crawl.config import Config
from crawl.errors import UsageError
from crawl.model.dump_format import DumpFormat
from crawl.phases.updatehostdb.tasks.read import as_host_paragraph
from crawl.printable import printable
from crawl.spark.runners import SparkOptions

NOT_FOUND = 1


@click.command("readhostdb")
@crawl_dir_argument
@click.option("--host", help="Everything known of one host. Exit code 1 if it is not there.")
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help="The N greatest hosts by a column."
)
@click.option("--by", metavar="COLUMN", help="With --top: the column.  [default: urls]")
@click.option("--dump", metavar="FOLDER", help="Write hosts to a new folder.")
@click.option(
    "--format",
    "dump_format",
    type=click.Choice([form.value for form in DumpFormat]),
    help="With --dump: of its files.  [default: parquet]",
)
@click.option(
    "--columns", metavar="NAMES", help="With --dump: only these columns, parted by commas."
)
@click.option(
    "--expr", help="With --top or --dump: only hosts that this Spark SQL condition holds for."
)
@click.option("--overwrite", is_flag=True, help="With --dump: replace an older dump in FOLDER.")
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    host: str | None,
    top: int | None,
    by: str | None,
    dump: str | None,
    dump_format: str | None,
    columns: str | None,
    expr: str | None,
    overwrite: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Look at the HostDb of CRAWL_DIR, as `crawl updatehostdb` left it. One of --host, --top and
    --dump.

    \b
    Examples:
      crawl readhostdb mycrawl --host example.org
      crawl readhostdb mycrawl --top 20 --by response_ms_p95
      crawl readhostdb mycrawl --top 20 --by urls --expr "failed > 0.5 * requests"
      crawl readhostdb mycrawl --dump hosts --format csv --columns host,homepage
    """
    chosen = [name for name, given in (("--host", host), ("--top", top), ("--dump", dump)) if given]
    if len(chosen) != 1:
        raise UsageError("give one of --host NAME, --top N and --dump FOLDER")
    belongs = {
        "--by": (by, ("--top",)),
        "--format": (dump_format, ("--dump",)),
        "--columns": (columns, ("--dump",)),
        "--expr": (expr, ("--top", "--dump")),
        "--overwrite": (overwrite, ("--dump",)),
    }
    for option, (given, owners) in belongs.items():
        if given and chosen[0] not in owners:
            raise UsageError(f"{option} goes with {' or '.join(owners)}, not with {chosen[0]}")
    with open_crawl(crawl_dir, config, spark, command="readhostdb") as web:
        if host:
            found = web.host(host)
            if as_json:
                print_json(found)
            elif found is not None:
                echo(as_host_paragraph(found))
            if found is None:
                remark(f"readhostdb: {printable(host)} is not in the HostDb")
                return NOT_FOUND
            return 0
        if dump:
            names = [name.strip() for name in (columns or "").split(",") if name.strip()]
            form = dump_format or "parquet"
            count = web.dump_hosts(dump, format=form, columns=names, expr=expr, overwrite=overwrite)
            if as_json:
                print_json({"hosts": count, "folder": dump})
            else:
                remark(f"readhostdb: {count:,} {'host' if count == 1 else 'hosts'} in {dump}")
            return 0
        rows = web.top_hosts(top or 1, by=by or "urls", expr=expr)
    if as_json:
        print_json(rows)
        return 0
    shown = list(dict.fromkeys(["host", by or "urls", *_SHOWN]))
    print_table("hosts", shown, [[row[name] for name in shown] for row in rows])
    return 0


_SHOWN = (
    "urls",
    "fetched",
    "gone",
    "requests",
    "failed",
    "response_ms_p50",
    "response_ms_p95",
    "size_p50",
    "duplicates_share",
)
