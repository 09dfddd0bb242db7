"""What a crawl can be asked without changing it; no method here needs Spark for a crawl of
ordinary size."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from crawl.clock import SystemClock
from crawl.facade.arguments import check_text, check_whole_number
from crawl.facade.base import Handle
from crawl.storage.manifest import Snapshot

_log = logging.getLogger("crawl")

Answer = TypeVar("Answer")


class Readers(Handle):
    """Answers as plain values: dictionaries, lists, texts and numbers, ready for JSON."""

    def status(self) -> list[dict[str, Any]]:
        """How far each segment is, also while another process works on it.

        >>> web.status()[-1]["state"]
        """
        from crawl.readers.status.segments import segments_status

        with self._working():
            self._directory.require_crawldb()
            return segments_status(self._directory, self._config, SystemClock())

    def hosts_left_alone(self) -> list[dict[str, Any]]:
        """The hosts whose URLs are not selected for now, why, and until when.

        >>> [host["until"] for host in web.hosts_left_alone()]
        """
        from crawl.readers.status.segments import hosts_left_alone

        with self._working():
            return hosts_left_alone(self._directory, self._config, SystemClock())

    def behind(self) -> list[dict[str, Any]]:
        """The derived tables that are behind what they are made from, such as a LinkDb that lacks
        segments: why, and the command that brings each up to date. Only those that the crawl has.

        >>> [table["command"] for table in web.behind()]
        """
        from crawl.rounds.derived import behind, read_facts

        with self._working():
            self._directory.require_crawldb()
            return [each.values(self.address) for each in behind(read_facts(self._directory))]

    def phase_costs(self) -> list[dict[str, Any]]:
        """What each phase of the last round took: seconds, the engine's jobs and tasks, and the
        bytes that were read, written, exchanged between tasks and passed through the driver. A
        figure that its report does not tell is None.

        >>> web.phase_costs()[-1]["bytes_exchanged"]
        """
        from crawl.readers.status.phase_costs import phase_costs

        with self._working():
            return phase_costs(self._directory, _log.warning)

    def explain(self, url: str, *, inlinks: int = 5) -> dict[str, Any]:
        """All that is known of one URL, and why generate would select it or not.

        >>> web.explain("https://example.org/")["next"]
        """
        from crawl.readers.explain.explanation import explanation_values
        from crawl.readers.explain.robots_verdict import known_verdict
        from crawl.readers.explain.url import explain

        with self._working():
            check_text("url", url)
            now_ms = SystemClock().now_ms()
            found = explain(
                self._directory,
                url,
                self._config,
                now_ms,
                most_inlinks=inlinks,
                evaluate=self._host_expressions,
            )
            robots = known_verdict(self._directory, found.url, self._config, now_ms, found.segments)
            return explanation_values(found, robots)

    def _host_expressions(self, hostdb: Snapshot, host: str) -> tuple[float | None, float | None]:
        """What the expressions over the HostDb give for a host."""
        with self._spark_session() as session:
            from crawl.phases.generate.tasks.selection import host_expressions
            from crawl.spark.host_bounds import values_of_host

            given = host_expressions(self._config)
            return values_of_host(session, self._directory, given, hostdb, host)

    def snapshots(self) -> list[dict[str, Any]]:
        """The kept states of the CrawlDb, the current one last.

        >>> [state["snapshot"] for state in web.snapshots()]
        """
        from crawl.readers.snapshots.snapshots import list_snapshots

        with self._working():
            return list_snapshots(self._directory, _log.warning)

    def _read(self, read: Callable[[Snapshot], Answer], number: int | None) -> Answer:
        """What `read` makes of the current state of the CrawlDb, or of the one with a number."""
        if number is None:
            return self._directory.reading(read)
        check_whole_number("snapshot", number)
        self._directory.require_timeline()
        return read(self._directory.crawldb.snapshot(number))
