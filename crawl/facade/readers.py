"""What a crawl can be asked without changing it; no method here needs Spark for a crawl of
ordinary size."""

from __future__ import annotations

import logging
from typing import Any

from crawl.buckets.dump import as_record
from crawl.buckets.explain import explain
from crawl.buckets.lookup import find_record
from crawl.buckets.robots_verdict import last_verdict
from crawl.clock import SystemClock
from crawl.config.properties import DB_STATS_SCORE_QUANTILES
from crawl.facade.base import Handle
from crawl.fetcher.drivers.simulate import Latency
from crawl.inspect.explanation import explanation_values
from crawl.inspect.segments import hosts_left_alone, segments_status
from crawl.inspect.simulation import segment_source, simulate
from crawl.inspect.snapshots import snapshots_kept
from crawl.inspect.statistics import statistics
from crawl.interfaces.chains import NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.records import to_records
from crawl.phases import readdb
from crawl.storage.checking import check
from crawl.storage.manifest import Snapshot

_log = logging.getLogger("crawl")


class Readers(Handle):
    """Answers as plain values: dictionaries, lists, texts and numbers, ready for JSON."""

    def status(self) -> list[dict[str, Any]]:
        """How far each segment is, also while another process works on it.

        >>> web.status()[-1]["state"]
        """
        with self._working():
            self._directory.require_crawldb()
            return segments_status(self._directory, self._config, SystemClock())

    def hosts_left_alone(self) -> list[dict[str, Any]]:
        """The hosts whose URLs are not selected for now, why, and until when.

        >>> web.hosts_left_alone()[0]["until"]
        """
        with self._working():
            return hosts_left_alone(self._directory, self._config, SystemClock())

    def stats(self, *, hosts: int = 0, snapshot: int | None = None) -> dict[str, Any]:
        """URLs by status, scores, intervals and retries; of the `hosts` largest hosts too.

        >>> web.stats()["status"]["db_fetched"]
        """
        with self._working():
            found = self._snapshot(snapshot)
            with self._runner(rows=found.rows) as runner:
                counted = readdb.stats(runner, self._directory, found, by_host=hosts > 0)
            quantiles = counted.quantiles(self._config[DB_STATS_SCORE_QUANTILES])
            return statistics(counted, quantiles, found, hosts)

    def lookup(self, url: str, *, snapshot: int | None = None) -> dict[str, Any] | None:
        """The CrawlDb's record of one URL, from a CrawlDb of any size; None where it is not
        known, nor in its normal form.

            >>> web.lookup("https://example.org/")["statusName"]
        """
        with self._working():
            found = self._snapshot(snapshot)
            normal = NormalizerChain.from_config(self._config, Scope.DEFAULT).normalize(url)
            for form in dict.fromkeys(filter(None, (url, normal))):
                row = find_record(self._directory.crawldb.folder, found, form)
                if row is not None:
                    ((known_as, datum),) = to_records(row)
                    return as_record(known_as, datum)
            return None

    def top(self, count: int, *, min_score: float | None = None) -> list[dict[str, Any]]:
        """The URLs with the highest scores, best first.

        >>> web.top(10)[0]["url"]
        """
        with self._working():
            found = self._snapshot(None)
            least = float("-inf") if min_score is None else min_score
            with self._runner(rows=found.rows) as runner:
                best = readdb.top(runner, self._directory, found, count, least)
            return [{"score": entry.score, "url": entry.url} for entry in best]

    def explain(self, url: str, *, inlinks: int = 5) -> dict[str, Any]:
        """All that is known of one URL, and why generate would select it or not.

        >>> web.explain("https://example.org/")["next"]
        """
        with self._working():
            now_ms = SystemClock().now_ms()
            found = explain(self._directory, url, self._config, now_ms, most_inlinks=inlinks)
            return explanation_values(found, last_verdict(found.segments))

    def snapshots(self) -> list[dict[str, Any]]:
        """The kept states of the CrawlDb, the current one last.

        >>> [state["snapshot"] for state in web.snapshots()]
        """
        with self._working():
            return snapshots_kept(self._directory, _log.warning)

    def check(self, *, deep: bool = False) -> list[dict[str, str]]:
        """What is damaged: every pointer, manifest and file is looked at; `deep` reads every
        page too. Nothing is changed; `repair` mends.

            >>> web.check()
        """
        with self._working():
            found = check(self._directory, deep=deep)
            return [{"path": fault.path, "fault": fault.fault} for fault in found.faults]

    def simulate(
        self,
        segment: str | None = None,
        *,
        latency: float = 0.5,
        spread: float = 0.5,
        tasks: int | None = None,
        seed: int = 0,
    ) -> dict[str, Any]:
        """Predicts how long the fetch of a segment takes, without sending a byte.

        >>> web.simulate(latency=0.3)["seconds"]
        """
        with self._working():
            source = segment_source(self.address, segment)
            found = simulate(source, self._config, Latency(latency, spread), tasks=tasks, seed=seed)
            return found.values()

    def _snapshot(self, number: int | None) -> Snapshot:
        current = self._directory.require_crawldb()
        return current if number is None else self._directory.crawldb.snapshot(number)
