"""How long URLs take, by stage, as histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crawl.fetcher.values.record import FetchRecord
from crawl.service.fetching.robots_waits import RobotsWaits
from crawl.service.finishing.page_rows import request_timings
from crawl.service.values import Finished, Job, JobState
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import SERVICE_STAGE_SECONDS
from crawl.urls.servers import server_of


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Observes what the protocol and the finisher have measured."""

    meter: Meter
    robots: RobotsWaits

    def observe(
        self,
        records: Sequence[FetchRecord],
        jobs: Mapping[str, Sequence[Job]],
        parse_s: float,
        store_s: float,
    ) -> None:
        """Of answers that were parsed and stored together: each has waited for all of them."""
        for record in records:
            timings = request_timings(record)
            for stage, ms in (
                ("dns", timings.dns),
                ("connect", timings.connect),
                ("first_byte", timings.first_byte),
                ("body", timings.body),
            ):
                if ms is not None:
                    self._observe(stage, ms / 1000)
            for job in jobs.get(record.url, ()):
                queue_ms, robots_ms = self.waits(record, job)
                self._observe("queue", queue_ms / 1000)
                self._observe("robots", robots_ms / 1000)
            if record.content is not None:
                self._observe("parse", parse_s)
            self._observe("store", store_s)

    def observe_ends(self, finished: Sequence[Finished]) -> None:
        """Of jobs, from their submission until they can be looked up; `own` is what is left of that
        when the last answer was there."""
        for each in finished:
            if each.state is JobState.FINISHED:
                self._observe("total", _seconds(each.submitted_ms, each.finished_ms))
                if each.page is not None and each.page.fetched_ms >= each.submitted_ms:
                    self._observe("own", _seconds(each.page.fetched_ms, each.finished_ms))

    def waits(self, record: FetchRecord, job: Job) -> tuple[int, int]:
        """Milliseconds from the job's submission, or from the redirect that led it here, to the
        request: in queues and pauses, and for robots.txt."""
        since_ms = max([job.submitted_ms, *(hop.at_ms for hop in job.hops[-1:])])
        asked_ms = record.datum.fetch_time - (record.response_ms or 0)
        server = server_of(record.url)
        authority = "" if server is None else server.origin
        robots_ms = self.robots.within(authority, since_ms, asked_ms)
        # a job that joined when the request was under way has not waited for it to begin
        return max(0, asked_ms - since_ms - robots_ms), robots_ms

    def _observe(self, stage: str, seconds: float) -> None:
        self.meter.observe(SERVICE_STAGE_SECONDS, seconds, stage=stage)


def _seconds(from_ms: int, until_ms: int) -> float:
    return max(0, until_ms - from_ms) / 1000
