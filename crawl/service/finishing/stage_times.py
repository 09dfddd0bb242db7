"""How long URLs take, by stage, as histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import structs

from crawl.fetcher.values.record import FetchRecord
from crawl.service.fetching.robots_waits import RobotsWaits, authority_of
from crawl.service.finishing.page_rows import request_timings
from crawl.service.values import Finished, Job, JobState, Timings
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import SERVICE_STAGE_SECONDS

_UNKNOWN: Final[tuple[None, None]] = (None, None)


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Observes what the protocol and the finisher have measured."""

    meter: Meter
    robots: RobotsWaits

    def of_page(self, record: FetchRecord, jobs: Sequence[Job], parse_s: float) -> Timings:
        """What is known when a page is stored: of the job that has waited for it the longest, and
        all but how long it takes to be stored."""
        waits = [self.waits(record, job) for job in jobs]
        queue_ms, robots_ms = max(waits, key=sum, default=_UNKNOWN)
        return structs.replace(
            request_timings(record),
            queue=queue_ms,
            robots=robots_ms,
            parse=None if record.content is None else parse_s * 1000,
        )

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
        """Milliseconds from the job's submission, or from the redirect that led it here, until its
        host was looked up: in queues and pauses, and for robots.txt."""
        since_ms = max([job.submitted_ms, *(hop.at_ms for hop in job.hops[-1:])])
        # the host is looked up before the request, whose time has it not
        asked_ms = record.datum.fetch_time - (record.response_ms or 0) - (record.dns_ms or 0)
        robots_ms = self.robots.within(authority_of(record.url), since_ms, asked_ms)
        # a job that joined when the request was under way has not waited for it to begin
        return max(0, asked_ms - since_ms - robots_ms), robots_ms

    def _observe(self, stage: str, seconds: float) -> None:
        self.meter.observe(SERVICE_STAGE_SECONDS, seconds, stage=stage)


def _seconds(from_ms: int, until_ms: int) -> float:
    return max(0, until_ms - from_ms) / 1000
