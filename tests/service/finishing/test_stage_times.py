from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from crawl.fetcher.values.record import FetchRecord
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.service.fetching.robots_waits import RobotsWaits
from crawl.service.finishing.stage_times import StageTimes
from crawl.service.values import Finished, Hop, Job, JobState, Page, Timings, Wish
from crawl.telemetry.meter import Meter
from crawl.telemetry.metrics import SERVICE_STAGE_SECONDS
from crawl.testing.clock import ManualClock

URL = "http://a/p"
T = 1_000_000


def record(at_ms: int, **given: Any) -> FetchRecord:
    datum = CrawlDatum(Status.FETCH_SUCCESS, at_ms)
    content = Content(URL, b"", "", 200, at_ms, "", "", "", "", {}, 0)
    return FetchRecord(URL, "a", datum, content, **given)


def job(*hops: Hop) -> Job:
    return Job(id="j", wish=Wish(url=URL), url=URL, submitted_ms=T, hops=hops)


def observed(meter: Meter) -> dict[str, tuple[int, float]]:
    """How often each stage was observed, and its seconds in all."""
    (samples,) = [each for metric, each in meter.samples() if metric is SERVICE_STAGE_SECONDS]
    return {
        each.labels[0]: (sum(each.histogram.counts), each.histogram.total)
        for each in samples
        if each.histogram is not None
    }


def test_every_stage_has_its_share() -> None:
    clock = ManualClock(T + 100)
    meter, waits = Meter(), RobotsWaits(clock)
    waits.begin("http://a")
    clock.advance(0.3)
    waits.end("http://a")
    stages = StageTimes(meter, waits)
    # submitted at 0, robots from 100 to 400, looked up at 893, asked at 900, answered at 1500
    fetched = record(T + 1500, response_ms=600, dns_ms=7, connect_ms=50, first_byte_ms=150)
    stages.observe([fetched], {URL: [job()]}, 0.02, 0.005)
    page = Page(url=URL, status=int(Status.FETCH_SUCCESS), fetched_ms=T + 1500)
    stages.observe_ends(
        [
            Finished(
                job="j",
                wish=Wish(url=URL),
                state=JobState.FINISHED,
                submitted_ms=T,
                finished_ms=T + 1530,
                url=URL,
                page=page,
            )
        ]
    )
    found = observed(meter)
    assert {stage: count for stage, (count, _) in found.items()} == dict.fromkeys(found, 1)
    assert {stage: seconds for stage, (_, seconds) in found.items()} == pytest.approx(
        {
            "queue": 0.593,
            "robots": 0.3,
            "dns": 0.007,
            "connect": 0.05,
            "first_byte": 0.15,
            "body": 0.4,
            "parse": 0.02,
            "store": 0.005,
            "total": 1.53,
            "own": 0.03,
        }
    )


def test_a_page_tells_all_stages_that_are_over_when_it_is_stored() -> None:
    clock = ManualClock(T + 100)
    waits = RobotsWaits(clock)
    waits.begin("http://a")
    clock.advance(0.3)
    waits.end("http://a")
    stages = StageTimes(Meter(), waits)
    fetched = record(T + 1500, response_ms=600, dns_ms=7, connect_ms=50, first_byte_ms=150)
    later = structs.replace(job(), submitted_ms=T + 450)
    timings = stages.of_page(fetched, [later, job()], 0.02)
    assert timings == Timings(
        queue=593, robots=300, dns=7, connect=50, first_byte=150, body=400, parse=20.0
    )
    assert stages.of_page(fetched, [], 0.02).queue is None, "nobody waits any more"
    gone = FetchRecord(URL, "a", CrawlDatum(Status.FETCH_GONE, T + 100))
    assert stages.of_page(gone, [job()], 0.02) == Timings(queue=100, robots=0)


def test_behind_a_redirect_the_wait_begins_with_it() -> None:
    stages = StageTimes(Meter(), RobotsWaits(ManualClock(T)))
    hop = Hop("http://b/", int(Status.FETCH_REDIR_TEMP), 302, T + 5000)
    assert stages.waits(record(T + 6000, response_ms=400), job(hop)) == (600, 0)


def test_who_joins_a_request_under_way_has_not_waited_for_it() -> None:
    stages = StageTimes(Meter(), RobotsWaits(ManualClock(T)))
    assert stages.waits(record(T + 100, response_ms=400), job()) == (0, 0)


def test_what_was_known_before_says_nothing_of_our_own_share() -> None:
    meter = Meter()
    page = Page(url=URL, status=int(Status.FETCH_SUCCESS), fetched_ms=T - 9000)
    StageTimes(meter, RobotsWaits(ManualClock(T))).observe_ends(
        [
            Finished(
                job="j",
                wish=Wish(url=URL),
                state=JobState.FINISHED,
                submitted_ms=T,
                finished_ms=T + 10,
                url=URL,
                page=page,
            )
        ]
    )
    assert list(observed(meter)) == ["total"]
