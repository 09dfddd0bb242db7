"""readdb: the CrawlDb as it stands. One command, four operations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from crawl.model.dump_format import DumpFormat
from crawl.model.status import DB_STATUSES, Status
from crawl.operations.operation import Asked, Operation
from crawl.operations.options import Natural, Positive, SnapshotNumber, option, selector, subject
from crawl.operations.view import Line, Note, Table, View
from crawl.operations.work import Work
from crawl.printable import plural, printable
from crawl.readers.dumps import Overwrite, UrlRegex, checked_regex, dump_folder, dumping

if TYPE_CHECKING:
    from crawl.storage.manifest import Snapshot
    from crawl.tables.runner import Runner

NOT_FOUND = 1

_HOSTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions:
    """The options of the statistics."""

    stats: Annotated[bool, selector("URLs by status, scores, intervals, retries.")] = False
    sort: Annotated[bool, option("With --stats: also by host, largest first.")] = False
    hosts: Annotated[
        Natural | None, option(f"With --sort: how many hosts (default: {_HOSTS}).")
    ] = None
    snapshot: SnapshotNumber = None

    @property
    def host_count(self) -> int:
        """Of how many hosts the statistics tell."""
        usual = _HOSTS if self.sort else 0
        return usual if self.hosts is None else self.hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupOptions:
    """The options of a look-up."""

    url: Annotated[
        str,
        subject("Everything known of one URL. Exit code 1 if it is not there.", metavar="URL"),
    ]
    snapshot: SnapshotNumber = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopOptions:
    """The options of the best URLs."""

    count: Annotated[
        Positive,
        subject("The N URLs with the highest scores.", "--top", metavar="N", nutch="-topN"),
    ]
    min_score: Annotated[
        float | None, option("With --top: only scores of at least this.", "--min")
    ] = None
    snapshot: SnapshotNumber = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """The options of a dump."""

    folder: Annotated[str, dump_folder("records")]
    format: Annotated[
        DumpFormat,
        option(
            "With --dump: of its files; parquet and json keep every value, csv and text escape"
            " what terminals and spreadsheets would obey (\\x1b, '=)."
        ),
    ] = DumpFormat.PARQUET
    status: Annotated[
        str | None,
        option(
            "With --dump: only records of this status.",
            metavar=f"[{'|'.join(status.label for status in DB_STATUSES)}]",
        ),
    ] = None
    regex: UrlRegex = None
    retry: Annotated[Natural | None, option("With --dump: only records with N retries.")] = None
    expr: Annotated[
        str | None, option("With --dump: only records that this Spark SQL condition holds for.")
    ] = None
    sample: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        option("With --dump: a share of the records, by chance."),
    ] = None
    overwrite: Overwrite = False
    snapshot: SnapshotNumber = None


def run_stats(work: Work, options: StatsOptions) -> dict[str, Any]:
    from crawl.config.properties import DB_STATS_SCORE_QUANTILES
    from crawl.driver.phase_run import read_crawldb
    from crawl.readers.readdb import run as reader

    def count(runner: Runner, state: Snapshot) -> dict[str, Any]:
        counted = reader.stats(runner, work.directory, state, by_host=options.host_count > 0)
        quantiles = counted.quantiles(work.config[DB_STATS_SCORE_QUANTILES])
        return reader.statistics(counted, quantiles, state, options.host_count)

    return read_crawldb(work, count, options.snapshot)


def run_lookup(work: Work, options: LookupOptions) -> dict[str, Any] | None:
    from crawl.readers.readdb.lookup import find_datum
    from crawl.tables.dump import as_record

    record = work.directory.reading(
        lambda state: find_datum(work.directory, state, options.url, work.config), options.snapshot
    )
    if record is None:
        work.remark(f"{printable(options.url)} is not in the CrawlDb")
        return None
    return as_record(*record)


def run_top(work: Work, options: TopOptions) -> list[dict[str, Any]]:
    from crawl.driver.phase_run import read_crawldb
    from crawl.readers.readdb import run as reader

    least = float("-inf") if options.min_score is None else options.min_score

    def find(runner: Runner, state: Snapshot) -> list[dict[str, Any]]:
        best = reader.top(runner, work.directory, state, options.count, least)
        return [{"score": entry.score, "url": entry.url} for entry in best]

    return read_crawldb(work, find, options.snapshot)


def run_dump(work: Work, options: DumpOptions) -> dict[str, Any]:
    from crawl.model.tables import CRAWLDB
    from crawl.readers.readdb import run as reader
    from crawl.storage.folder import Folder, absolute
    from crawl.tables.dump import DumpJob, RecordFilter

    record_filter = RecordFilter(
        status=Status.of_label(options.status) if options.status else None,
        regex=checked_regex(options.regex),
        min_retries=options.retry,
        sample=options.sample,
    )
    output = Folder(absolute(options.folder))
    job = DumpJob(
        work.directory.crawldb.folder,
        output,
        options.format,
        record_filter,
        has_expr=options.expr is not None,
    )
    write = partial(reader.dump, job)
    dump = dumping(work, CRAWLDB, options.expr, output, write, overwrite=options.overwrite)
    written = work.directory.reading(dump, options.snapshot)
    return {"records": written, "folder": options.folder}


def render_stats(result: dict[str, Any], asked: Asked) -> View:
    statuses = {Status.of_label(label): count for label, count in result["status"].items()}
    rows: list[list[object]] = [["TOTAL urls", result["urls"]]]
    rows += [[f"status {int(code)} ({code.label})", count] for code, count in statuses.items()]
    rows += [[f"retry {value}", count] for value, count in result["retries"].items()]
    view = [Table(f"CrawlDb, snapshot {result['snapshot']}", ["what", "URLs"], rows)]
    if not result["urls"]:
        return view
    names = {"score": "score", "fetchInterval": "fetch interval (s)", "fetchTime": "due"}
    spreads = [[label, *result[name].values()] for name, label in names.items()]
    view.append(Table("values", ["what", "least", "mean", "greatest"], spreads))
    shares = [[float(share), score] for share, score in result["scoreQuantiles"].items()]
    view.append(Table("scores", ["quantile", "score"], shares))
    if "hosts" in result:
        labels = list(result["status"])
        columns = ["host", "URLs", *(label.removeprefix("db_") for label in labels)]
        hosts = [
            [host, sum(counts.values()), *(counts.get(label, 0) for label in labels)]
            for host, counts in result["hosts"].items()
        ]
        view.append(Table("hosts", columns, hosts))
    if result["scoreNaN"]:
        return [*view, Note(f"{result['scoreNaN']:,} scores are not a number")]
    return view


def render_lookup(result: dict[str, Any] | None, asked: Asked) -> View:
    from crawl.tables.dump import record_paragraph

    return [] if result is None else [Line(record_paragraph(result))]


def render_top(result: list[dict[str, Any]], asked: Asked) -> View:
    return [Table("top URLs", ["score", "url"], [[each["score"], each["url"]] for each in result])]


def render_dump(result: dict[str, Any], asked: Asked) -> View:
    return [Note(f"{plural(result['records'], 'record')} in {result['folder']}")]


OPERATIONS = (
    Operation(
        name="stats",
        command="readdb",
        command_help="""
        Look at the CrawlDb of CRAWL_DIR. One of --stats, --url, --top and --dump.
        """,
        examples=(
            "crawl readdb mycrawl --stats --sort",
            "crawl readdb mycrawl --url https://example.org/",
            "crawl readdb mycrawl --top 20 --min 0.5 --json",
            "crawl readdb mycrawl --dump out --format csv --status db_gone",
            "crawl readdb mycrawl --dump out --expr \"score > 1 AND metadata['lang'] = 'en'\"",
        ),
        run=run_stats,
        render=render_stats,
        uses_spark=True,
        help="URLs by status, scores, intervals and retries; of the largest hosts too.",
        calls=('web.stats()["status"]["db_fetched"]',),
    ),
    Operation(
        name="lookup",
        command="readdb",
        run=run_lookup,
        render=render_lookup,
        code=lambda record, asked: NOT_FOUND if record is None else 0,
        help="""
        The CrawlDb's record of one URL, from a CrawlDb of any size; none where it is not known, nor
        in its normal form.
        """,
        calls=('web.lookup("https://example.org/")["statusName"]',),
    ),
    Operation(
        name="top",
        command="readdb",
        run=run_top,
        render=render_top,
        uses_spark=True,
        help="The URLs with the highest scores, best first.",
        calls=('web.top(10)[0]["url"]',),
    ),
    Operation(
        name="dump",
        command="readdb",
        method="dump_crawldb",
        run=run_dump,
        render=render_dump,
        uses_spark=True,
        help="Writes records of the CrawlDb to a new folder; says how many.",
        calls=('web.dump_crawldb("out", format="csv", status="db_gone")["records"]',),
    ),
)
