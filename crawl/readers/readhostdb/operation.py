"""readhostdb: the HostDb as it stands. One command, three operations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from crawl.operations.operation import Asked, Operation
from crawl.operations.view import Line, Note, Table, View
from crawl.operations.work import Work
from crawl.printable import printable
from crawl.readers.readhostdb.options import DumpHostsOptions, HostOptions, TopHostsOptions

if TYPE_CHECKING:
    from crawl.storage.manifest import Snapshot
    from crawl.tables.exchange import BlockSource
    from crawl.tables.runner import Runner

NOT_FOUND = 1

Answer = TypeVar("Answer")


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
    from crawl.readers.readhostdb import run as reader

    def find(state: Snapshot) -> list[dict[str, Any]]:
        with _runner(work, state, options.expr) as (runner, matching):
            return reader.top(runner, work.directory, state, options.by, options.count, matching)

    reader.check_order(options.by)
    return read(work, find)


def run_dump(work: Work, options: DumpHostsOptions) -> int:
    from crawl.driver.output_folder import check_room, make_room
    from crawl.model.derived_tables import HOSTDB
    from crawl.model.dump_format import DumpFormat
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
    is_begun = False

    def write(state: Snapshot) -> int:
        nonlocal is_begun
        # begun: the snapshot was forgotten, and what is there is ours
        check_room(output, overwrite=options.overwrite or is_begun)
        with _runner(work, state, options.expr) as (runner, matching):
            # an older dump is there as long as the condition may be a wrong one
            make_room(output, overwrite=options.overwrite or is_begun)
            is_begun = True
            return reader.dump(runner, state, job, matching)

    return read(work, write)


@contextmanager
def _runner(
    work: Work, state: Snapshot, expr: str | None
) -> Iterator[tuple[Runner, BlockSource | None]]:
    """What reads the HostDb, and the rows for which the condition holds."""
    if expr is None:
        with work.runner(rows=state.rows) as runner:
            yield runner, None
        return
    with work.session() as session, work.runner() as runner:
        from crawl.model.derived_tables import HOSTDB
        from crawl.spark.expr import check_expression, matching_rows

        check_expression(session, expr, HOSTDB)
        yield runner, matching_rows(session, work.directory, state, expr, table=HOSTDB.name)


def render_host(host: dict[str, Any] | None, asked: Asked) -> View:
    from crawl.phases.updatehostdb.tasks.read import as_host_paragraph

    return [] if host is None else [Line(as_host_paragraph(host))]


def render_top(hosts: list[dict[str, Any]], asked: Asked) -> View:
    columns = list(dict.fromkeys(["host", asked.options.by, *_SHOWN]))
    return [Table("hosts", columns, [[host[name] for name in columns] for host in hosts])]


def dump_values(count: int, asked: Asked) -> dict[str, Any]:
    return {"hosts": count, "folder": asked.options.folder}


def render_dump(count: int, asked: Asked) -> View:
    return [Note(f"{count:,} {'host' if count == 1 else 'hosts'} in {asked.options.folder}")]


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
        options=HostOptions,
        result=dict[str, Any] | None,
        run=run_host,
        render=render_host,
        code=lambda host, asked: NOT_FOUND if host is None else 0,
        help="What is known of one host, from a HostDb of any size; none where it is not known.",
        calls=('web.host("example.org")',),
    ),
    Operation(
        name="top_hosts",
        command="readhostdb",
        options=TopHostsOptions,
        result=list[dict[str, Any]],
        run=run_top,
        render=render_top,
        uses_spark=True,
        help="The hosts with the greatest values in a column, greatest first.",
        calls=('[host["host"] for host in web.top_hosts(10, by="failed")]',),
    ),
    Operation(
        name="dump_hosts",
        command="readhostdb",
        options=DumpHostsOptions,
        result=int,
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
