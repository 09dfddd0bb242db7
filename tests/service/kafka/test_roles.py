"""The roles as processes of their own beside a real broker, judged by the web's log."""

from __future__ import annotations

import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from crawl.service.kafka.partitions import Partitions
from crawl.synthetic.web import before_robots, concurrency, gaps
from crawl.synthetic.web.log import LogEntry
from tests.plugins.indexwriter.real_kafka import RealKafka, running_kafka
from tests.service.kafka.conftest import StartRole, prefix_of
from tests.service.kafka.site import Role, Web, wait_for
from tests.service.kafka.topics import TopicReader

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=90)]

DELAY_S = 0.3
"""Of the configuration (conftest.py)."""
MEASURED_S = 0.02
"""How exactly the web sees a pause."""


def submit(intake: Role, urls: Sequence[str]) -> list[str]:
    """Has URLs taken on; the ids of their jobs."""
    status, answer, _ = intake.ask("POST", "/v1/urls", {"urls": list(urls)})
    assert status == 202, answer
    assert {job["state"] for job in answer["jobs"]} == {"queued"}, answer
    return [job["id"] for job in answer["jobs"]]


def taken_on(intake: Role, urls: Callable[[int], Sequence[str]]) -> list[str]:
    """Submits until the brokers took all of it in time, as a client does that is told to come
    again; other URLs each time, as some of those before may be under way."""
    for attempt in range(60):
        status, answer, _ = intake.ask("POST", "/v1/urls", {"urls": list(urls(attempt))})
        if status == 202:
            return [job["id"] for job in answer["jobs"]]
        assert status == 503, answer
    raise AssertionError(answer)


def require_polite(log: Sequence[LogEntry]) -> None:
    """No two requests to a host at a time, none before its pause was over, whoever sent them."""
    assert all(gap.seconds >= DELAY_S - MEASURED_S for gap in gaps(log)), gaps(log)[:3]
    assert max(concurrency(log).values()) == 1
    assert not before_robots(log)


def host_named(number: int) -> str:
    """A host of each partition in turn, so that every owner has some."""
    partitions = Partitions(8)
    names = (f"h{number}-{attempt}.test" for attempt in range(1000))
    return next(name for name in names if partitions.of_host(name) == number % 8)


def urls_of(web: Web, hosts: int, pages: int) -> list[str]:
    names = [host_named(number) for number in range(hosts)]
    return [web.url(name, f"/{page}") for page in range(pages) for name in names]


@pytest.fixture
def finished(kafka: RealKafka, request: pytest.FixtureRequest) -> Iterator[TopicReader]:
    reader = TopicReader(kafka.address, f"{prefix_of(request)}.finished")
    yield reader
    reader.close()


def wait_until_finished(reader: TopicReader, jobs: Sequence[str], *roles: Role) -> None:
    """Until each of the jobs has ended."""

    def all_ended() -> bool:
        for role in roles:
            assert role.process.poll() is None, role.said
        return set(jobs) <= {each["id"] for each in reader.read()}

    def missing() -> str:
        gone = set(jobs) - {each["id"] for each in reader.values}
        return f"{len(gone)} of {len(jobs)} are not finished"

    wait_for(all_ended, missing)


def test_what_one_role_takes_on_another_fetches_and_a_third_answers(
    web: Web, start_role: StartRole, finished: TopicReader
) -> None:
    intake, lookup, fetch = (start_role(role) for role in ("intake", "lookup", "fetch"))
    for role in (intake, lookup, fetch):
        role.wait_until_ready()
    urls = urls_of(web, 4, 3)
    short = web.url("short.test", "/to/h9.test/target")
    forbidden, missing = web.url("h1.test", "/no/1"), web.url("h2.test", "/missing")
    jobs = submit(intake, [*urls, short, forbidden, missing])
    wait_until_finished(finished, jobs, intake, lookup, fetch)
    by_id = {each["id"]: each for each in finished.values}
    assert by_id[jobs[0]]["page"]["title"] == "Page /0"
    assert by_id[jobs[-3]]["final_url"] == web.url("h9.test", "/target")
    assert [hop["url"] for hop in by_id[jobs[-3]]["chain"]] == [short]
    assert by_id[jobs[-2]]["status"] == "fetch_gone"
    assert by_id[jobs[-1]]["page"]["code"] == 404
    status, page, _ = lookup.ask("GET", f"/v1/url?url={urls[5]}")
    assert (status, page["title"]) == (200, "Page /1")
    # the wait for robots.txt is seen by the role that asks, and told by the one that stores
    timings = [by_id[each]["page"]["timings_ms"] for each in jobs[: len(urls)]]
    assert all(
        {"queue", "robots", "dns", "first_byte", "body", "parse"} <= set(each) for each in timings
    )
    assert sum(each["robots"] for each in timings) > 0
    # whoever asked the intake is answered there: the store is the same
    status, job, _ = intake.ask("GET", f"/v1/jobs/{jobs[3]}")
    assert (status, job["state"]) == (200, "finished")
    fresh = web.url("h3.test", "/waited")
    status, page, _ = intake.ask("POST", "/v1/fetch?wait=60s", {"url": fresh})
    assert (status, page["title"]) == (200, "Page /waited")
    assert intake.ask("GET", "/v1/search?q=page")[0] == 501
    _crawl_a_site(lookup, web)
    require_polite(web.log())


def _crawl_a_site(lookup: Role, web: Web) -> None:
    seed = web.url("site.test", "/links/3")
    status, crawl, _ = lookup.ask("POST", "/v1/crawls", {"seeds": [seed]})
    assert status == 201, crawl

    def has_ended() -> bool:
        crawl_now = lookup.ask("GET", f"/v1/crawls/{crawl['id']}")[1]
        return bool(crawl_now["state"] != "running")

    wait_for(has_ended, lambda: lookup.said)
    assert lookup.ask("GET", f"/v1/crawls/{crawl['id']}")[1]["pages"] == 4


def test_two_fetchers_share_the_domains_and_one_leaves_in_good_order(
    web: Web, start_role: StartRole, finished: TopicReader
) -> None:
    # nobody is taken for dead because the machine is busy
    intake, lookup, first, second = (
        start_role(role, "service.kafka.session=60")
        for role in ("intake", "lookup", "fetch", "fetch")
    )
    for role in (intake, lookup, first, second):
        role.wait_until_ready()
    both = (first, second)
    wait_for(
        lambda: sorted(partitions_of(role) for role in both) == [4, 4],
        lambda: str([partitions_of(role) for role in both]),
    )
    jobs = submit(intake, urls_of(web, 12, 12))
    wait_for(
        lambda: all(role.ask("GET", "/readyz")[1].get("results", 0) > 5 for role in both),
        lambda: f"{first.said}\n{second.said}",
    )
    second.end()
    wait_until_finished(finished, jobs, intake, lookup, first)
    wait_for(lambda: partitions_of(first) == 8, lambda: first.said)
    figures = first.ask("GET", "/readyz")[1]
    assert figures.get("partitions_taken_over", 0) == 0  # nobody died
    require_polite(web.log())
    pages = [entry for entry in web.log() if entry.path != "/robots.txt"]
    assert len(pages) == len(jobs)  # each was asked for once


def partitions_of(role: Role) -> int:
    return int(role.ask("GET", "/readyz")[1].get("partitions", -1))


def test_a_fetcher_that_is_killed_loses_nothing_and_delays_hold_across_it(
    web: Web, start_role: StartRole, finished: TopicReader
) -> None:
    intake, lookup, first, second = (
        start_role(role) for role in ("intake", "lookup", "fetch", "fetch")
    )
    for role in (intake, lookup, first, second):
        role.wait_until_ready()
    both = (first, second)
    wait_for(
        lambda: sorted(partitions_of(role) for role in both) == [4, 4],
        lambda: str([partitions_of(role) for role in both]),
    )
    jobs = submit(intake, urls_of(web, 12, 15))
    wait_for(lambda: len(web.log()) > 40, lambda: first.said)
    second.kill()
    wait_until_finished(finished, jobs, intake, lookup, first)
    wait_for(lambda: partitions_of(first) == 8, lambda: first.said)
    assert first.ask("GET", "/readyz")[1]["partitions_taken_over"] >= 4
    require_polite(web.log())


def test_a_fetcher_that_stood_still_asks_nobody_out_of_turn(
    web: Web, start_role: StartRole, finished: TopicReader
) -> None:
    intake, lookup, first, second = (
        start_role(role) for role in ("intake", "lookup", "fetch", "fetch")
    )
    for role in (intake, lookup, first, second):
        role.wait_until_ready()
    both = (first, second)
    wait_for(
        lambda: sorted(partitions_of(role) for role in both) == [4, 4],
        lambda: str([partitions_of(role) for role in both]),
    )
    jobs = submit(intake, urls_of(web, 12, 40))
    wait_for(lambda: len(web.log()) > 60, lambda: first.said)
    second.signal(signal.SIGSTOP)
    wait_for(lambda: partitions_of(first) == 8, lambda: first.said)
    before = len(web.log())
    wait_for(lambda: len(web.log()) > before + 60, lambda: first.said)
    second.signal(signal.SIGCONT)
    wait_for(
        lambda: sorted(partitions_of(role) for role in both) == [4, 4],
        lambda: f"{first.said}\n{second.said}",
    )
    wait_until_finished(finished, jobs, *both, intake, lookup)
    figures = second.ask("GET", "/readyz")[1]
    assert figures["partitions_lost"] >= 4
    require_polite(web.log())
    asked: dict[str, int] = defaultdict(int)
    for entry in web.log():
        asked[entry.host] += entry.path != "/robots.txt"
    assert set(asked) == {host_named(number) for number in range(12)}


def test_intake_and_lookup_that_are_killed_lose_nothing(
    web: Web, start_role: StartRole, finished: TopicReader
) -> None:
    intake, lookup, fetch = (start_role(role) for role in ("intake", "lookup", "fetch"))
    for role in (intake, lookup, fetch):
        role.wait_until_ready()
    urls = urls_of(web, 10, 12)
    jobs = submit(intake, urls)
    intake.kill()
    wait_for(lambda: len(finished.read()) > 20, lambda: lookup.said)
    lookup.kill()
    again = start_role("lookup")
    again.wait_until_ready()
    wait_until_finished(finished, jobs, again, fetch)
    status, answer, _ = again.ask("POST", "/v1/lookup", {"urls": urls})
    assert status == 200
    assert [page["url"] for page in answer["pages"]] == urls
    again.end()
    assert again.process.returncode == 0, again.said
    require_polite(web.log())


def test_of_two_that_store_one_is_killed(
    web: Web, start_role: StartRole, finished: TopicReader, tmp_path: Path
) -> None:
    store = f"service.store=lmdb:{tmp_path / 'pages'}"
    intake, one, other = (
        start_role(role, store, f"service.folder={tmp_path / name}")
        for role, name in (("intake", "i"), ("lookup", "one"), ("lookup", "other"))
    )
    fetch = start_role("fetch")
    for role in (intake, one, other, fetch):
        role.wait_until_ready()
    urls = urls_of(web, 10, 15)
    jobs = submit(intake, urls)
    wait_for(lambda: len(finished.read()) > 20, lambda: one.said)
    one.kill()
    wait_until_finished(finished, jobs, intake, other, fetch)
    status, answer, _ = other.ask("POST", "/v1/lookup", {"urls": urls})
    assert status == 200
    assert [page["url"] for page in answer["pages"]] == urls
    require_polite(web.log())


def test_a_broker_that_dies_and_comes_back_costs_time_alone(
    web: Web, start_role: StartRole, request: pytest.FixtureRequest
) -> None:
    with running_kafka() as own:
        intake, lookup, fetch = (
            start_role(role, "service.kafka.timeout=2", address=own.address)
            for role in ("intake", "lookup", "fetch")
        )
        for role in (intake, lookup, fetch):
            role.wait_until_ready()
        names = [host_named(number) for number in range(6)]
        jobs = taken_on(
            intake, lambda at: [web.url(name, f"/{at}-{n}") for n in range(20) for name in names]
        )
        wait_for(lambda: len(web.log()) > 20, lambda: fetch.said)
        own.kill()
        status, answer, headers = intake.ask(
            "POST", "/v1/urls", {"urls": [web.url("late.test", "/1")]}
        )
        assert status == 503, answer
        assert int(headers["retry-after"]) > 0
        assert intake.ask("GET", "/readyz")[0] == 503
        # without a proof that its domains are its own, the fetcher asks nobody
        wait_for(lambda: fetch.ask("GET", "/readyz")[0] == 503, lambda: fetch.said)
        own.start()
        late = taken_on(intake, lambda at: [web.url("late.test", f"/then-{at}")])
        reader = TopicReader(own.address, f"{prefix_of(request)}.finished")
        try:
            wait_until_finished(reader, [*jobs, *late], intake, lookup, fetch)
        finally:
            reader.close()
        for role in (intake, lookup, fetch):
            role.wait_until_ready()
        require_polite(web.log())
        own.kill()  # they end without it, too
        for role in (intake, lookup, fetch):
            role.end()
            assert role.process.returncode == 0, role.said
