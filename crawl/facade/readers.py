"""What a crawl can be asked without changing it; no method here needs Spark for a crawl of
ordinary size."""

from __future__ import annotations

import logging
from typing import Any

from crawl.clock import SystemClock
from crawl.facade.arguments import check_text
from crawl.facade.base import Handle
from crawl.storage.manifest import Snapshot

_log = logging.getLogger("crawl")


class Readers(Handle):
    """Answers as plain values: dictionaries, lists, texts and numbers, ready for JSON."""

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
