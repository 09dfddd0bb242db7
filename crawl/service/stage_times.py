"""How long URLs take, by stage, as histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crawl.fetcher.values.record import FetchRecord
from crawl.service.values import Finished, JobState
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import SERVICE_STAGE_SECONDS


@dataclass(frozen=True, slots=True)
class StageTimes:
    """Observes what the protocol and the finisher have measured."""

    meter: Meter

    def observe(self, records: Sequence[FetchRecord], parse_s: float, store_s: float) -> None:
        """Of answers that were parsed and stored together: each has waited for all of them."""
        for record in records:
            first_byte, total = record.first_byte_ms, record.response_ms
            body = None if first_byte is None or total is None else max(0, total - first_byte)
            for stage, ms in (
                ("dns", record.dns_ms),
                ("connect", record.connect_ms),
                ("first_byte", first_byte),
                ("body", body),
            ):
                if ms is not None:
                    self._observe(stage, ms / 1000)
            if record.content is not None:
                self._observe("parse", parse_s)
            self._observe("store", store_s)

    def observe_ends(self, finished: Sequence[Finished]) -> None:
        """Of jobs, from their submission until they can be looked up."""
        for each in finished:
            if each.state is JobState.FINISHED:
                self._observe("total", (each.finished_ms - each.submitted_ms) / 1000)

    def _observe(self, stage: str, seconds: float) -> None:
        self.meter.observe(SERVICE_STAGE_SECONDS, seconds, stage=stage)
