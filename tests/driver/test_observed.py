"""A real fetch over the synthetic web, seen from outside: scraped while it runs, traced by
a collector, logged as JSON."""

from __future__ import annotations

import json
import logging
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import NothingToDo, StorageError
from crawl.model.status import Status
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.fetch.progress import progress_of
from crawl.phases.fetch.run import FetchResult
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import RobotsKind, Settings, Web, WebServer, running
from crawl.tables.runner import InProcess
from crawl.telemetry import ambient, logs, metrics
from crawl.telemetry.ambient import observed_command
from crawl.telemetry.meter import Meter
from tests.phases.webs import fetched, listed, web_config
from tests.telemetry.collector import collecting

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

SITES, PAGES = 6, 90


@pytest.fixture
def server() -> Iterator[WebServer]:
    with running(Web(Settings(sites=SITES, pages=PAGES, port=0, size=800, retry_after=0))) as made:
        yield made


@pytest.fixture
def crawl(tmp_path: Path, server: WebServer) -> tuple[CrawlDir, str]:
    return listed(str(tmp_path / "mycrawl"), sorted(set(server.web.urls())))


def config_of(server: WebServer, **settings: object) -> Config:
    return web_config(
        server.web,
        metrics__prometheus__port=0,
        metrics__prometheus__linger=0,
        metrics__interval=0.1,
        fetcher__progress__interval=0.1,
        # servers are asked ten times a second at the most: long enough to be looked at
        fetcher__server__delay=0.1,
        **settings,
    )


def run(directory: CrawlDir, name: str, config: Config) -> FetchResult:
    return fetch.run(InProcess(2), directory, config, FetchOptions(name), SystemClock())


Scrape = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(url: str) -> Scrape:
    with urllib.request.urlopen(url, timeout=30) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value_of(seen: Scrape, name: str, **labels: str) -> float:
    return seen[(name, frozenset({"crawl": "mycrawl", **labels}.items()))]


def total(seen: Scrape, name: str) -> float:
    return sum(value for (metric, _), value in seen.items() if metric == name)


def test_a_fetch_is_scraped_while_it_runs(crawl: tuple[CrawlDir, str], server: WebServer) -> None:
    directory, name = crawl
    config = config_of(server)
    seen: list[Scrape] = []
    done: list[FetchResult] = []
    with observed_command(config, "fetch", directory.address):
        url = ambient.scrape_address()
        fetching = threading.Thread(target=lambda: done.append(run(directory, name, config)))
        fetching.start()
        while fetching.is_alive():
            seen.append(scrape(url))
            fetching.join(0.05)
        last = scrape(url)
    (result,) = done
    counters = result.report.counters
    at_work = [
        each
        for each in seen
        if each.get(("nutria_phase_running", frozenset({("crawl", "mycrawl"), ("phase", "fetch")})))
    ]
    middle = [
        each
        for each in at_work
        if 0 < total(each, "nutria_fetch_requests_total") < counters["requests"]
    ]
    assert middle, "the figures move while the fetch runs"
    assert any(total(each, "nutria_fetch_queues") for each in middle)
    assert any(value_of(each, "nutria_fetch_urls_left") < PAGES for each in middle)
    requests = [total(each, "nutria_fetch_requests_total") for each in at_work]
    assert requests == sorted(requests), "a counter never falls"

    assert total(last, "nutria_fetch_requests_total") == counters["requests"]
    assert total(last, "nutria_fetch_bytes_total") == counters["bytes"]
    assert total(last, "nutria_fetch_robots_denied_total") == counters["robots_denied"] > 0
    for status in ("fetch_success", "fetch_gone", "fetch_redir_temp"):
        assert value_of(last, "nutria_fetch_pages_total", status=status) == counters[status]
    assert (
        value_of(last, "nutria_fetch_answers_total", answer="http_200", protocol_status="success")
        == counters["answers.http_200"]
        > 0
    )
    answers = sum(n for name, n in counters.items() if name.startswith("answers."))
    assert total(last, "nutria_fetch_answers_total") == answers
    assert total(last, "nutria_fetch_request_seconds_count") > 0
    assert total(last, "nutria_fetch_handed_back_total") == sum(
        count for name, count in counters.items() if name.startswith("handed_back.")
    )
    assert value_of(last, "nutria_fetch_urls_left") == 0
    assert value_of(last, "nutria_fetch_threads_busy") == 0
    assert value_of(last, "nutria_fetch_parts", state="ended") == 2
    assert value_of(last, "nutria_phase_running", phase="fetch") == 0
    assert value_of(last, "nutria_phase_runs_total", phase="fetch", outcome="success") == 1
    finished = value_of(last, "nutria_phase_last_success_timestamp_seconds", phase="fetch")
    assert finished * 1000 >= result.report.started_ms
    labels = {label for _, pairs in last for label, _ in pairs}
    assert labels <= {"crawl", "le", *(each for metric in metrics.ALL for each in metric.labels)}
    values = {value for _, pairs in last for _, value in pairs}
    assert not values & set(server.web.hosts()), "no host is a label"


def test_hosts_that_have_their_turn_at_the_end_are_counted_too(tmp_path: Path) -> None:
    away = Settings(
        sites=6, pages=40, port=0, size=500, odd=0, robots=(RobotsKind.AWAY, RobotsKind.OPEN)
    )
    with running(Web(away)) as server:
        urls = sorted(set(server.web.urls()))
        directory, name = listed(str(tmp_path / "mycrawl"), urls, parts=6)
        config = config_of(server)
        with observed_command(config, "fetch", directory.address):
            counters = run(directory, name, config).report.counters
            last = scrape(ambient.scrape_address())
        progress = progress_of(directory.segments.segment(name))
    assert counters["robots_elsewhere"] > 0
    assert (
        value_of(last, "nutria_fetch_pages_total", status="fetch_success")
        == (counters["fetch_success"])
    )
    assert total(last, "nutria_fetch_requests_total") == counters["requests"]
    assert progress.done == counters["records"] == len(urls)


def test_a_fetch_is_a_trace_from_the_command_to_its_pages(
    crawl: tuple[CrawlDir, str], server: WebServer
) -> None:
    directory, name = crawl
    with collecting() as collector:
        config = web_config(
            server.web, traces__otlp__endpoint=collector.url, traces__pages__sample=1
        )
        with observed_command(config, "fetch", directory.address):
            done = run(directory, name, config)
        spans = collector.spans()
    by_id = {span.id: span for span in spans}
    assert len({span.trace for span in spans}) == 1

    def way_up(span_id: str) -> list[str]:
        names = []
        while span_id:
            names.append(by_id[span_id].name)
            span_id = by_id[span_id].parent
        return names

    # what is learnt of servers is handed over by tasks of buckets, not of parts
    of_parts = ["fetch task", "fetch: fetch", "fetch", "crawl fetch"]
    tasks = [span for span in spans if way_up(span.id) == of_parts]
    others = [span for span in spans if span.name == "fetch task" and span not in tasks]
    assert {way_up(span.id)[1] for span in others} == {"fetch: hand_over"}
    assert {task.attributes["nutria.part"] for task in tasks} == {0, 1}
    for task in tasks:
        assert task.attributes["nutria.segment"] == name
        assert task.attributes["nutria.count.records"] > 0
    pages = [span for span in spans if span.name == "page"]
    rows = [url for url, d in fetched(directory, name) if d.status is not Status.LINKED]
    assert sorted(page.attributes["url.full"] for page in pages) == sorted(rows)
    assert {way_up(page.id)[1] for page in pages} == {"fetch task"}
    (phase,) = [span for span in spans if span.name == "fetch"]
    assert phase.attributes["nutria.count.records"] == done.report.counters["records"]


def test_pages_get_no_spans_unless_asked_for(
    crawl: tuple[CrawlDir, str], server: WebServer
) -> None:
    directory, name = crawl
    with collecting() as collector:
        config = web_config(server.web, traces__otlp__endpoint=collector.url)
        with observed_command(config, "fetch", directory.address):
            run(directory, name, config)
        assert sorted({span.name for span in collector.spans()}) == [
            "crawl fetch",
            "fetch",
            "fetch task",
            "fetch: fetch",
            "fetch: hand_over",
        ]


def value(meter: Meter | None, metric: metrics.Metric, **labels: str) -> float | None:
    assert meter is not None
    return meter.value(metric, **labels)


def test_a_round_reports_what_it_parsed_and_what_the_crawldb_holds(
    crawl: tuple[CrawlDir, str], server: WebServer, tmp_path: Path
) -> None:
    directory, name = crawl
    config = web_config(server.web, metrics__textfile=str(tmp_path / "node"))
    clock, runner = SystemClock(), InProcess(2)
    with observed_command(config, "run", directory.address):
        run(directory, name, config)
        parsed = parse.run(runner, directory, config, ParseOptions(name), clock)
        updated = updatedb.run(runner, directory, config, UpdateDbOptions(), clock)
        meter = ambient.meter()
        outcomes = {
            name.removeprefix("parse."): count
            for name, count in parsed.report.counters.items()
            if name.startswith("parse.")
        }
        assert outcomes["success"] > 0
        for outcome, count in outcomes.items():
            assert value(meter, metrics.PARSE_PAGES, outcome=outcome) == count
        fetched = value(meter, metrics.CRAWLDB_RECORDS, status="db_fetched")
        assert fetched is not None
        assert fetched > 0
        records = sum(
            sample.value
            for sample in dict(meter.samples() if meter else ())[metrics.CRAWLDB_RECORDS]
        )
        assert records == updated.snapshot.rows
        assert value(meter, metrics.CRAWLDB_SNAPSHOT) == updated.snapshot.number
        for phase in ("fetch", "parse", "updatedb"):
            assert value(meter, metrics.PHASE_LAST_SUCCESS, phase=phase)
        assert value(meter, metrics.STEP_SECONDS, phase="updatedb", step="merge") is not None
        new = updated.report.counters["urls_new"]
        assert value(meter, metrics.PHASE_EVENTS, phase="updatedb", event="urls_new") == new


def test_how_a_phase_failed_is_reported(crawl: tuple[CrawlDir, str], tmp_path: Path) -> None:
    directory, _ = crawl
    config = Config.of({"metrics.textfile": str(tmp_path / "node")})

    class Broken(InProcess):
        def run(self, function: Any, tasks: Any, step: str) -> Any:
            raise StorageError("the bucket is gone")

    (tmp_path / "seeds.txt").write_text("http://a.example/\n")
    options = InjectOptions((str(tmp_path / "seeds.txt"),))
    with observed_command(config, "inject", directory.address):
        with pytest.raises(StorageError):
            inject.run(Broken(), directory, config, options, SystemClock())
        with pytest.raises(NothingToDo):
            updatedb.run(InProcess(), directory, config, UpdateDbOptions(), SystemClock())
        meter = ambient.meter()
        assert value(meter, metrics.PHASE_RUNS, phase="inject", outcome="failure") == 1
        assert value(meter, metrics.PHASE_LAST_FAILURE, phase="inject")
        assert value(meter, metrics.PHASE_LAST_SUCCESS, phase="inject") is None
        assert value(meter, metrics.PHASE_RUNNING, phase="inject") == 0
        assert value(meter, metrics.PHASE_RUNS, phase="updatedb", outcome="nothing_to_do") == 1
        assert value(meter, metrics.PHASE_LAST_FAILURE, phase="updatedb") is None


def test_the_lines_of_a_fetch_parse_and_name_their_parts(
    crawl: tuple[CrawlDir, str], server: WebServer, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, name = crawl
    config = web_config(server.web, log__format="json", log__level="debug")
    try:
        with observed_command(config, "fetch", directory.address):
            run(directory, name, config)
    finally:
        logs.use_text()
        logging.getLogger().setLevel(logging.WARNING)
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = [json.loads(line) for line in captured.err.splitlines()]
    ours = [line for line in lines if line["logger"].startswith("crawl.")]
    assert {line["crawl"] for line in ours} == {directory.address}
    done = [line for line in ours if line["message"] == "task done"]
    tasks = [line for line in done if line["step"] == "fetch"]
    assert {line["step"] for line in done} == {"fetch", "hand_over"}
    assert {(line["phase"], line["segment"], line["part"]) for line in tasks} == {
        ("fetch", name, 0),
        ("fetch", name, 1),
    }
    assert ours[0]["message"] == "fetch begins"
    (ended,) = [line for line in ours if line["message"].startswith("fetch done")]
    assert ended["counters"]["records"] == sum(line["counters"]["records"] for line in tasks)
