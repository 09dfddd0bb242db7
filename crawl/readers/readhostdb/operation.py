"""readhostdb: the HostDb as it stands. One command, three operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from crawl.model.dump_format import DumpFormat
from crawl.operations.operation import Asked, Operation
from crawl.operations.options import Positive, option, subject
from crawl.operations.view import Line, Note, Table, View
from crawl.operations.work import Work
from crawl.printable import plural, printable
from crawl.readers.dumps import Overwrite, dump_folder, dumping, reading_rows

if TYPE_CHECKING:
    from crawl.storage.manifest import Snapshot

NOT_FOUND = 1

Answer = TypeVar("Answer")


Condition = Annotated[
    str | None, option("With --top or --dump: only hosts that this Spark SQL condition holds for.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """The options of a look-up."""

    name: Annotated[
        str,
        subject(
            "Everything known of one host. Exit code 1 if it is not there.",
            "--host",
            metavar="NAME",
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopHostsOptions:
    """The options of the greatest hosts."""

    count: Annotated[
        Positive, subject("The N greatest hosts by a column.", "--top", metavar="N")
    ] = 20
    by: Annotated[str, option("With --top: the column.", metavar="COLUMN")] = "urls"
    expr: Condition = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpHostsOptions:
    """The options of a dump."""

    folder: Annotated[str, dump_folder("hosts")]
    format: Annotated[DumpFormat, option("With --dump: of its files.")] = DumpFormat.PARQUET
    columns: Annotated[
        tuple[str, ...],
        option("With --dump: only these columns.", metavar="NAME[,NAME]", commas=True),
    ] = ()
    expr: Condition = None
    overwrite: Overwrite = False


def read(work: Work, read: Callable[[Snapshot], Answer]) -> Answer:
    """What `read` makes of the HostDb (see `Dataset.reading`)."""
    from crawl.model.derived_tables import HOSTDB
    from crawl.storage.hostdb import require_hostdb

    directory = work.directory
    return directory.dataset(HOSTDB).reading(lambda: require_hostdb(directory), read)


def run_host(work: Work, options: HostOptions) -> dict[str, Any] | None:
    from crawl.model.derived_tables import HOSTDB
    from crawl.phases.updatehostdb.settings import HOSTDB_PERCENTILES
    from crawl.phases.updatehostdb.tasks.read import find_host

    folder, name = work.directory.dataset(HOSTDB).folder, options.name.lower()
    percentiles = work.config[HOSTDB_PERCENTILES]
    host = read(work, lambda state: find_host(folder, state, name, percentiles))
    if host is None:
        work.remark(f"{printable(options.name)} is not in the HostDb")
    return host


def run_top(work: Work, options: TopHostsOptions) -> list[dict[str, Any]]:
    from crawl.model.derived_tables import HOSTDB
    from crawl.readers.readhostdb import run as reader

    def find(state: Snapshot) -> list[dict[str, Any]]:
        with reading_rows(work, state, options.expr, HOSTDB) as (runner, matching):
            return reader.top(runner, work.directory, state, options.by, options.count, matching)

    reader.check_order(options.by)
    return read(work, find)


def run_dump(work: Work, options: DumpHostsOptions) -> int:
    from crawl.model.derived_tables import HOSTDB
    from crawl.phases.updatehostdb.tasks.read import SHOWN, DumpHostsJob, ReadHostsJob
    from crawl.readers.readhostdb import run as reader
    from crawl.storage.folder import Folder, absolute

    usual = HOSTDB.names if options.format is DumpFormat.PARQUET else SHOWN
    names = options.columns or tuple(usual)
    reader.check_columns(names)
    if options.format is DumpFormat.TEXT and "host" not in names:
        names = ("host", *names)
    output = Folder(absolute(options.folder))
    hosts = ReadHostsJob(
        work.directory.dataset(HOSTDB).folder, names, has_expr=options.expr is not None
    )
    job = DumpHostsJob(hosts, output, options.format)
    write = partial(reader.dump, job)
    dump = dumping(work, HOSTDB, options.expr, output, write, overwrite=options.overwrite)
    return read(work, dump)


def render_host(host: dict[str, Any] | None, asked: Asked) -> View:
    from crawl.phases.updatehostdb.tasks.read import as_host_paragraph

    return [] if host is None else [Line(as_host_paragraph(host))]


def render_top(hosts: list[dict[str, Any]], asked: Asked) -> View:
    columns = list(dict.fromkeys(["host", asked.options.by, *_SHOWN]))
    return [Table("hosts", columns, [[host[name] for name in columns] for host in hosts])]


def dump_values(count: int, asked: Asked) -> dict[str, Any]:
    return {"hosts": count, "folder": asked.options.folder}


def render_dump(count: int, asked: Asked) -> View:
    return [Note(f"{plural(count, 'host')} in {asked.options.folder}")]


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

OPERATIONS = (
    Operation(
        name="host",
        command="readhostdb",
        command_help="""
        Look at the HostDb of CRAWL_DIR, as `crawl updatehostdb` left it. One of --host, --top and
        --dump.
        """,
        examples=(
            "crawl readhostdb mycrawl --host example.org",
            "crawl readhostdb mycrawl --top 20 --by response_ms_p95",
            'crawl readhostdb mycrawl --top 20 --by urls --expr "failed > 0.5 * requests"',
            "crawl readhostdb mycrawl --dump hosts --format csv --columns host,homepage",
        ),
        run=run_host,
        render=render_host,
        code=lambda host, asked: NOT_FOUND if host is None else 0,
        help="What is known of one host, from a HostDb of any size; none where it is not known.",
        calls=('web.host("example.org")',),
    ),
    Operation(
        name="top_hosts",
        command="readhostdb",
        run=run_top,
        render=render_top,
        uses_spark=True,
        help="The hosts with the greatest values in a column, greatest first.",
        calls=('[host["host"] for host in web.top_hosts(10, by="failed")]',),
    ),
    Operation(
        name="dump_hosts",
        command="readhostdb",
        run=run_dump,
        render=render_dump,
        values=dump_values,
        uses_spark=True,
        help="""
        Writes the HostDb to a new folder as Parquet, CSV, JSON lines or text; returns how many
        hosts.
        """,
        calls=('web.dump_hosts("hosts", format="csv", columns=["host", "homepage"])',),
    ),
)
