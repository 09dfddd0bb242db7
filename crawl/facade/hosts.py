"""The HostDb as methods: what each host is like."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from crawl.clock import SystemClock
from crawl.driver.prechecks import require_segments, require_unlocked
from crawl.errors import UsageError
from crawl.facade.arguments import check_text, check_whole_number, segment_names
from crawl.facade.base import Handle
from crawl.facade.results import PhaseResult, phase_result

if TYPE_CHECKING:
    from crawl.storage.manifest import Snapshot
    from crawl.tables.exchange import BlockSource
    from crawl.tables.runner import Runner

Answer = TypeVar("Answer")


class Hosts(Handle):
    """Makes the HostDb and answers from it."""

    def updatehostdb(
        self, segments: Iterable[str] = (), *, rebuild: bool = False, steal_lock: bool = False
    ) -> PhaseResult:
        """Counts what each host is like: its URLs in the CrawlDb, and what the named segments
        brought, or all that are fetched and not counted yet. `rebuild`: begins anew.

            >>> web.updatehostdb().counters["hosts"]
        """
        from crawl.model.derived_tables import HOSTDB
        from crawl.phases.updatehostdb import run as updatehostdb
        from crawl.phases.updatehostdb.run import UpdateHostDbOptions

        with self._working():
            options = UpdateHostDbOptions(
                segment_names(segments), rebuild=rebuild, steal_lock=steal_lock
            )
            self._directory.require_crawldb()
            require_segments(self._directory, options.segments)
            updatehostdb.choose(self._directory, options)
            self._directory.require_writable()
            folder = self._directory.dataset(HOSTDB).folder
            require_unlocked(folder, self._config, steal_lock=steal_lock)
            with self._runner() as runner:
                done = updatehostdb.run(
                    runner, self._directory, self._config, options, SystemClock()
                )
        return phase_result(
            done.report,
            snapshot=done.hostdb.number,
            segments=done.segments,
            remarks=(*done.remarks, done.took_over),
        )

    def host(self, name: str) -> dict[str, Any] | None:
        """What is known of one host, from a HostDb of any size; None where it is not known.

        >>> web.host("example.org")
        """
        from crawl.model.derived_tables import HOSTDB
        from crawl.phases.updatehostdb.settings import HOSTDB_PERCENTILES
        from crawl.phases.updatehostdb.tasks.find import find_host

        with self._working():
            check_text("name", name)
            wanted = self._config[HOSTDB_PERCENTILES]
            folder = self._directory.dataset(HOSTDB).folder
            return self._read_hostdb(lambda state: find_host(folder, state, name.lower(), wanted))

    def top_hosts(
        self, count: int = 20, *, by: str = "urls", expr: str | None = None
    ) -> list[dict[str, Any]]:
        """The hosts with the greatest values in a column. `expr`: only those for which this
        Spark SQL condition holds.

            >>> [host["host"] for host in web.top_hosts(10, by="failed")]
        """
        from crawl.readers.readhostdb import run as readhostdb

        def find(state: Snapshot) -> list[dict[str, Any]]:
            with self._hosts_runner(state, expr) as (runner, matching):
                return readhostdb.top(runner, self._directory, state, by, count, matching)

        with self._working():
            check_whole_number("count", count)
            check_text("expr", expr)
            readhostdb.check_order(by)
            return self._read_hostdb(find)

    def dump_hosts(
        self,
        folder: str | Path,
        *,
        format: str = "parquet",
        columns: Iterable[str] = (),
        expr: str | None = None,
        overwrite: bool = False,
    ) -> int:
        """Writes the HostDb to a new folder as Parquet, CSV, JSON lines or text; returns how
        many hosts.

            >>> web.dump_hosts("hosts", format="csv", columns=["host", "homepage"])
        """
        from crawl.driver.output_folder import check_room, make_room
        from crawl.model.derived_tables import HOSTDB
        from crawl.model.dump_format import DumpFormat
        from crawl.phases.updatehostdb.tasks.read import SHOWN, DumpHostsJob, ReadHostsJob
        from crawl.readers.readhostdb import run as readhostdb
        from crawl.storage.folder import Folder, absolute

        with self._working():
            check_text("expr", expr)
            if format not in set(DumpFormat):
                raise UsageError(f"format: one of {', '.join(DumpFormat)}, not {format!r}")
            form = DumpFormat(format)
            usual = HOSTDB.names if form is DumpFormat.PARQUET else SHOWN
            names = tuple(columns) or tuple(usual)
            readhostdb.check_columns(names)
            if form is DumpFormat.TEXT and "host" not in names:
                names = ("host", *names)
            output = Folder(absolute(str(folder)))
            reading = ReadHostsJob(self._directory.dataset(HOSTDB).folder, names, expr is not None)
            begun = False

            def write(state: Snapshot) -> int:
                nonlocal begun
                check_room(output, overwrite=overwrite or begun)
                with self._hosts_runner(state, expr) as (runner, matching):
                    # an older dump is there as long as the condition may be a wrong one
                    make_room(output, overwrite=overwrite or begun)
                    begun = True
                    job = DumpHostsJob(reading, output, form)
                    return readhostdb.dump(runner, state, job, matching)

            return self._read_hostdb(write)

    @contextmanager
    def _hosts_runner(
        self, state: Snapshot, expr: str | None
    ) -> Iterator[tuple[Runner, BlockSource | None]]:
        """What reads the HostDb, and the rows for which the condition holds."""
        if expr is None:
            with self._runner(rows=state.rows) as runner:
                yield runner, None
            return
        with self._spark_session() as session, self._runner() as runner:
            from crawl.model.derived_tables import HOSTDB
            from crawl.spark.expr import check_expression, matching_rows

            check_expression(session, expr, HOSTDB)
            yield (
                runner,
                matching_rows(session, self._directory, state, expr, table=HOSTDB.name),
            )

    def _read_hostdb(self, read: Callable[[Snapshot], Answer]) -> Answer:
        """What `read` makes of the HostDb (see `Dataset.reading`)."""
        from crawl.model.derived_tables import HOSTDB
        from crawl.storage.hostdb import require_hostdb

        return self._directory.dataset(HOSTDB).reading(
            lambda: require_hostdb(self._directory), read
        )
