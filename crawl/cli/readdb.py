"""crawl readdb."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import TypeVar

import click
import pyarrow as pa

from crawl.cli.common.options import crawl_dir_argument, json_option, with_config, with_spark
from crawl.cli.common.output import echo, print_json, print_table, remark
from crawl.config import Config
from crawl.config.properties import DB_STATS_SCORE_QUANTILES
from crawl.driver.output_folder import check_room, make_room
from crawl.errors import UsageError
from crawl.model.status import DB_STATUSES, Status, status_label
from crawl.readers.readdb import run as readdb
from crawl.readers.readdb.lookup import find_datum
from crawl.readers.readdb.statistics import largest_hosts, spread_values, statistics
from crawl.spark.runners import SparkOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder, absolute
from crawl.storage.manifest import Snapshot
from crawl.tables.dump import DumpFormat, DumpJob, RecordFilter, as_paragraph, as_record
from crawl.tables.runner import Runner
from crawl.tables.stats import CrawlDbStats

NOT_FOUND = 1

Result = TypeVar("Result")


@click.command("readdb")
@crawl_dir_argument
@click.option("--stats", is_flag=True, help="URLs by status, scores, intervals, retries.")
@click.option("--sort", is_flag=True, help="With --stats: also by host, largest first.")
@click.option(
    "--hosts",
    "most_hosts",
    type=click.IntRange(min=1),
    metavar="N",
    default=50,
    show_default=True,
    help="With --sort: how many hosts.",
)
@click.option("--url", help="Everything known of one URL. Exit code 1 if it is not there.")
@click.option(
    "--top", type=click.IntRange(min=1), metavar="N", help="The N URLs with the highest scores."
)
@click.option("--min", "least", type=float, help="With --top: only scores of at least this.")
@click.option("--dump", metavar="FOLDER", help="Write records to a new folder.")
@click.option(
    "--format",
    "dump_format",
    type=click.Choice([f.value for f in DumpFormat]),
    help="With --dump: of its files; parquet and json keep every value, csv and text escape what"
    " terminals and spreadsheets would obey (\\x1b, '=).  [default: parquet]",
)
@click.option(
    "--status",
    type=click.Choice([s.label for s in DB_STATUSES]),
    help="With --dump: only records of this status.",
)
@click.option("--regex", help="With --dump: only URLs that match as a whole (RE2 syntax).")
@click.option(
    "--retry",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --dump: only records with N retries.",
)
@click.option("--expr", help="With --dump: only records that this Spark SQL condition holds for.")
@click.option(
    "--sample",
    type=click.FloatRange(0, 1),
    metavar="NUMBER",
    help="With --dump: a share of the records, by chance.",
)
@click.option("--snapshot", "number", type=int, help="Read this snapshot instead of the current.")
@click.option("--overwrite", is_flag=True, help="With --dump: replace an older dump in FOLDER.")
@json_option
@with_spark
@with_config
def command(
    crawl_dir: str,
    stats: bool,
    sort: bool,
    most_hosts: int,
    url: str | None,
    top: int | None,
    least: float | None,
    dump: str | None,
    dump_format: str | None,
    status: str | None,
    regex: str | None,
    retry: int | None,
    expr: str | None,
    sample: float | None,
    number: int | None,
    overwrite: bool,
    as_json: bool,
    spark: SparkOptions,
    config: Config,
) -> int:
    """Look at the CrawlDb of CRAWL_DIR. One of --stats, --url, --top and --dump.

    \b
    Examples:
      crawl readdb mycrawl --stats --sort
      crawl readdb mycrawl --url https://example.org/
      crawl readdb mycrawl --top 20 --min 0.5 --json
      crawl readdb mycrawl --dump out --format csv --status db_gone
      crawl readdb mycrawl --dump out --expr "score > 1 AND metadata['lang'] = 'en'"
    """
    chosen = [
        name
        for name, given in (("--stats", stats), ("--url", url), ("--top", top), ("--dump", dump))
        if given
    ]
    if len(chosen) != 1:
        raise UsageError("give one of --stats, --url, --top N and --dump FOLDER")
    _refuse_misplaced(
        chosen[0],
        {
            "--stats": {"--sort": sort},
            "--top": {"--min": least is not None},
            "--dump": {
                "--format": dump_format,
                "--status": status,
                "--regex": regex,
                "--retry": retry is not None,
                "--expr": expr,
                "--sample": sample is not None,
                "--overwrite": overwrite,
            },
        },
    )
    directory = CrawlDir(crawl_dir)

    def reading(read: Callable[[Snapshot], Result]) -> Result:
        if number is not None:
            directory.require_timeline()
            return read(directory.crawldb.snapshot(number))
        return directory.reading(read)

    if url is not None:
        return reading(
            lambda snapshot: _show_url(directory, snapshot, url, config, as_json=as_json)
        )
    if dump is not None:
        wanted = RecordFilter(
            status=Status.of_label(status) if status else None,
            regex=checked_regex(regex),
            min_retries=retry,
            sample=sample,
        )
        output = Folder(absolute(dump))
        dumping = DumpJob(
            directory.crawldb.folder,
            output,
            DumpFormat(dump_format or "parquet"),
            wanted,
            has_expr=expr is not None,
        )
        begun = False

        def begin_anew() -> None:
            nonlocal begun
            # begun: the snapshot was forgotten, and what is there is ours
            make_room(output, overwrite=overwrite or begun)
            begun = True

        def written(snapshot: Snapshot) -> int:
            check_room(output, overwrite=overwrite or begun)
            return _dump(directory, snapshot, dumping, expr, spark, config, begin_anew)

        rows = reading(written)
        if as_json:
            print_json({"records": rows, "folder": dump})
        else:
            remark(f"readdb: {rows:,} {'record' if rows == 1 else 'records'} in {dump}")
        return 0

    def shown(snapshot: Snapshot) -> None:
        with spark.runner("readdb", config, rows=snapshot.rows) as runner:
            if top is not None:
                _show_top(runner, directory, snapshot, top, least, as_json=as_json)
                return
            found = readdb.stats(runner, directory, snapshot, by_host=sort)
        quantiles = found.quantiles(config[DB_STATS_SCORE_QUANTILES])
        if as_json:
            print_json(statistics(found, quantiles, snapshot, most_hosts))
        else:
            _show_stats(found, quantiles, snapshot, most_hosts if sort else 0)

    reading(shown)
    return 0


def _refuse_misplaced(chosen: str, belongs: dict[str, dict[str, object]]) -> None:
    for owner, options in belongs.items():
        for option, given in options.items():
            if given and owner != chosen:
                raise UsageError(f"{option} goes with {owner}, not with {chosen}")


def checked_regex(regex: str | None) -> str | None:
    """The pattern, if RE2 understands it."""
    if regex is not None:
        try:
            pa.compute.match_substring_regex(pa.array(["x"]), f"^(?:{regex})$")
        except pa.ArrowInvalid as error:
            reason = re.sub(r"^Invalid regular expression: ", "", str(error))
            raise UsageError(f"--regex {regex!r}: {reason}") from error
    return regex


def _show_url(
    directory: CrawlDir, snapshot: Snapshot, url: str, config: Config, *, as_json: bool
) -> int:
    found = find_datum(directory, snapshot, url, config)
    if found is None:
        remark(f"readdb: {url} is not in the CrawlDb")
        if as_json:
            print_json(None)
        return NOT_FOUND
    known_as, datum = found
    if as_json:
        print_json(as_record(known_as, datum))
    else:
        echo(as_paragraph(known_as, datum))
    return 0


def _dump(
    directory: CrawlDir,
    snapshot: Snapshot,
    dumping: DumpJob,
    expr: str | None,
    spark: SparkOptions,
    config: Config,
    make_room: Callable[[], None],
) -> int:
    """An older dump is there as long as the condition may be a wrong one."""
    if expr is None:
        with spark.runner("readdb", config, rows=snapshot.rows) as runner:
            make_room()
            return readdb.dump(runner, snapshot, dumping, None)
    with spark.session("readdb", config) as session:
        from crawl.spark.expr import check_expression, matching_rows
        from crawl.spark.tasks import SparkRunner

        check_expression(session, expr)
        make_room()
        matching = matching_rows(session, directory, snapshot, expr)
        return readdb.dump(SparkRunner(session, quiet=spark.quiet), snapshot, dumping, matching)


def _show_top(
    runner: Runner,
    directory: CrawlDir,
    snapshot: Snapshot,
    most: int,
    least: float | None,
    *,
    as_json: bool,
) -> None:
    found = readdb.top(runner, directory, snapshot, most, float("-inf") if least is None else least)
    if as_json:
        print_json([asdict(entry) for entry in found])
    else:
        print_table("top URLs", ["score", "url"], [[entry.score, entry.url] for entry in found])


def _show_stats(
    stats: CrawlDbStats, quantiles: dict[float, float], snapshot: Snapshot, most_hosts: int
) -> None:
    rows: list[list[object]] = [["TOTAL urls", stats.urls]]
    for code, count in sorted(stats.statuses.items()):
        rows.append([f"status {code} ({status_label(code)})", count])
    rows += [[f"retry {value}", count] for value, count in sorted(stats.retries.items())]
    print_table(f"CrawlDb, snapshot {snapshot.number}", ["what", "URLs"], rows)
    if not stats.urls:
        return
    spreads: list[list[object]] = [
        ["score", *spread_values(stats.score)],
        ["fetch interval (s)", *spread_values(stats.fetch_interval_s)],
        ["due", *spread_values(stats.fetch_time_ms, times=True)],
    ]
    print_table("values", ["what", "least", "mean", "greatest"], spreads, first=False)
    if stats.scores_nan:
        remark(f"readdb: {stats.scores_nan:,} scores are not a number")
    shares = [[share, score] for share, score in quantiles.items()]
    print_table("scores", ["quantile", "score"], shares, first=False)
    if most_hosts:
        labels = sorted(stats.statuses)
        print_table(
            f"{min(most_hosts, len(stats.hosts)):,} of {len(stats.hosts):,} hosts",
            ["host", "URLs", *(status_label(code).removeprefix("db_") for code in labels)],
            [
                [host, counts.total(), *(counts[code] for code in labels)]
                for host, counts in largest_hosts(stats, most_hosts)
            ],
            first=False,
        )
