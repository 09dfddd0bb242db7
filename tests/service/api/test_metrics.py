from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest

from crawl.service.api.metrics import metrics_text
from crawl.telemetry.metrics import ALL, MetricKind
from tests.service.stores.dying_store import asked_service, wait_until
from tests.service.webhooks.receiver import running_receiver

_WHEN_IT_HAPPENS = {
    "nutria_service_store_errors_total",
    "nutria_service_chores_failed_total",
    "nutria_service_returned_total",
    "nutria_service_webhooks_total",
}
"""Counters by labels that are told from the first time on."""
_STAGES = {
    *("queue", "robots", "dns", "connect", "first_byte", "body", "parse", "store", "total", "own")
}


def figures(text: str) -> dict[str, float]:
    """The value of every series."""
    found = re.findall(r"^(nutria_\w+(?:\{[^}]*\})?) (\S+)$", text, re.M)
    return {series: float(value) for series, value in found}


def total(found: dict[str, float], name: str, *conditions: str) -> float:
    return sum(
        value
        for series, value in found.items()
        if series.split("{")[0] == name and all(each in series for each in conditions)
    )


def _stages_follow_each_other(found: dict[str, float]) -> None:
    """Each job was alone with its URL, so that its stages are within its time."""
    spent = {
        stage: total(found, "nutria_service_stage_seconds_sum", f'stage="{stage}"')
        for stage in _STAGES
    }
    whole, own = spent.pop("total"), spent.pop("own")
    rounded = 0.1  # each of them to milliseconds
    assert sum(spent.values()) <= whole + rounded, spent
    assert spent["store"] <= own + rounded


def _page_tells_its_stages(address: str, url: str) -> None:
    asked = f"{address}/v1/url?url={quote(url, safe='')}"
    with urllib.request.urlopen(asked, timeout=60) as answer:
        timings = json.load(answer)["timings_ms"]
    assert set(timings) == _STAGES - {"store", "total", "own"}
    assert min(timings.values()) >= 0


def outcomes(found: dict[str, float]) -> dict[str, float]:
    """What became of deliveries to webhooks."""
    name = "nutria_service_webhooks_total"
    told = {re.search(r'outcome="([^"]*)"', each): n for each, n in found.items() if name in each}
    return {match[1]: count for match, count in told.items() if match is not None}


@pytest.mark.slow(seconds=10)
def test_what_became_of_deliveries_to_webhooks_is_told(tmp_path: Path) -> None:
    settings = ("allow.private=true", "attempts=2", "retry.first=20ms", "poll=0.05")
    named = (f"service.webhooks.{each}" for each in settings)
    with (
        running_receiver() as receiver,
        asked_service(tmp_path / "crawl", f"lmdb:{tmp_path / 'store'}", *named) as asked,
    ):

        def hook(path: str, **wish: object) -> str:
            status, _, made = asked.ask("/v1/webhooks", {"url": receiver.url(path), **wish})
            assert status == 201, made
            return str(made["id"])

        def told() -> dict[str, float]:
            with urllib.request.urlopen(asked.address + "/metrics", timeout=60) as answer:
                return figures(answer.read().decode())

        good, bad = hook("/ok"), hook("/status/500", tags=["red"])
        urls: list[object] = [asked.url(place) for place in range(3)]
        urls.append({"url": asked.url("red"), "tags": ["red"]})
        assert asked.status("/v1/urls", {"urls": urls}) == 202
        wait_until(
            lambda: (
                asked.crawl.webhooks.counters()["delivered"] == 4
                and asked.crawl.webhooks.counters()["dead_exhausted"] == 1
            ),
            "all of it is delivered or given up",
        )
        found = told()
        assert outcomes(found) == {"stored": 5, "delivered": 4, "status": 2, "dead_exhausted": 1}
        wait_until(lambda: total(told(), "nutria_service_webhooks_waiting") == 0, "none waits")
        assert outcomes(told()) == outcomes(found), "what is told again is not counted again"

        # with a webhook go its dead letters, which nobody could see any more
        outbox, registrations = asked.crawl.webhooks.outbox, asked.crawl.webhooks.registrations
        assert len(outbox.dead(bad)) == 1
        request = urllib.request.Request(f"{asked.address}/v1/webhooks/{bad}", method="DELETE")
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.status == 204
        assert outbox.dead(bad) == []
        assert [each.id for each in registrations.list()] == [good]


@pytest.mark.slow
def test_every_figure_of_the_service_is_told(tmp_path: Path) -> None:
    with asked_service(tmp_path / "crawl", f"lmdb:{tmp_path / 'store'}") as asked:
        urls = [asked.url(place) for place in range(5)]
        refused = [f"{asked.web.address}/private/1", "http://10.0.0.1/", "ftp://a/"]
        assert asked.status("/v1/urls", {"urls": [*urls, *refused]}) == 202
        wait_until(lambda: asked.service.queue.count().unfinished == 0, "all jobs end")
        assert asked.known(urls) == [True] * 5
        assert asked.status("/v1/url?url=http://unknown.test/") == 404
        service = asked.service
        wait_until(lambda: service.stats().is_ready, "it has looked whether it is ready")
        wait_until(lambda: service.counters["segments_published"] > 0, "a segment is published")
        with urllib.request.urlopen(asked.address + "/metrics", timeout=60) as answer:
            text = answer.read().decode()
        found = figures(text)
        told = {series.split("{")[0] for series in found}
        for metric in ALL:
            if metric.name.startswith("nutria_service_") and metric.name not in _WHEN_IT_HAPPENS:
                assert set(metric.series) <= told, metric.name
        assert all('crawl="crawl"' in series for series in found)

        assert total(found, "nutria_build_info") == 1
        assert total(found, "nutria_service_ready") == 1
        assert total(found, "nutria_service_waiting") == 0
        assert total(found, "nutria_service_jobs_total", 'state="submitted_queued"') == 6
        assert total(found, "nutria_service_jobs_total", 'state="submitted_refused"') == 2
        assert total(found, "nutria_service_jobs_total", 'state="ended_finished"') == 6
        assert total(found, "nutria_service_refusals_total", 'reason="address"') == 1
        assert total(found, "nutria_service_refusals_total", 'reason="scheme"') == 1
        assert total(found, "nutria_service_published_timestamp_seconds") > 1e9
        assert total(found, "nutria_service_api_errors_total", 'code="not_known"') == 1
        requests = "nutria_service_api_requests_total"
        assert total(found, requests, 'endpoint="POST /v1/urls"', 'status="202"') == 1
        assert total(found, requests, 'endpoint="GET /v1/url"', 'status="404"') == 1
        stages = {
            stage: total(found, "nutria_service_stage_seconds_count", f'stage="{stage}"')
            for stage in _STAGES
        }
        assert min(stages.values()) >= 5, stages
        assert total(found, "nutria_service_stage_seconds_sum", 'stage="robots"') > 0
        _stages_follow_each_other(found)
        for url in urls:
            _page_tells_its_stages(asked.address, url)

        # what is told again is not counted again
        again = figures(metrics_text(service, asked.crawl.webhooks).decode())
        for metric in ALL:
            if metric.kind is MetricKind.COUNTER and metric.name != requests:
                assert total(again, metric.name) == total(found, metric.name), metric.name
