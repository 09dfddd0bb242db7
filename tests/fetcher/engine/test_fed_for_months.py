"""An engine that is fed for months forgets what is over, and nothing else."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from crawl.fetcher.drivers.virtual import VirtualClock, run_virtual
from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.values.hooks import EngineHooks
from crawl.fetcher.values.item import FetchItem
from crawl.fetcher.values.output_port import MemoryOutput
from crawl.fetcher.values.politeness import Politeness, ServerPace
from crawl.fetcher.values.settings import FetchSettings
from crawl.interfaces.protocol import Failure, FailureKind, Response
from crawl.model.datum import FETCH_DELAY_KEY
from tests.fetcher.small_web import DUE

MOST = 25
SETTINGS = FetchSettings(
    threads=10,
    leave_alone_s=300.0,
    robots_cache_size=MOST,
    robots_defer_retries=0,
    redirect_max=2,
    max_seen_urls=MOST,
    max_past_hosts=MOST,
)
DELAYED = replace(DUE, metadata={FETCH_DELAY_KEY: "7000"})


def answer_by_host(work: ReadyRequest, now: float) -> tuple[Response | Failure, float]:
    """Hosts are named after what they do."""
    url, host, sent = work.request.url, work.item.host, now + 1e-9
    kind = host.partition("-")[0]
    if url.endswith("/robots.txt"):
        if kind == "silent":
            return Failure(url, FailureKind.CONNECT_REFUSED, sent=sent), 0.1
        if kind == "unknown":
            return Failure(url, FailureKind.UNKNOWN_HOST), 0.1
        slow = b"User-agent: *\nCrawl-delay: 900" if kind == "slow" else b""
        return Response(url, 200, (), slow, sent=sent), 0.1
    if kind in ("failing", "closed"):  # the latter has more pages than may fail
        return Response(url, 503, (), b"", sent=sent), 0.1
    if kind == "moved" and url.endswith("/"):
        return Response(url, 301, (("Location", "/there"),), b"", sent=sent), 0.1
    return Response(url, 200, (), b"text", sent=sent), 0.1


KINDS = ("good", "silent", "unknown", "slow", "failing", "closed", "moved", "paced")


def fed_engine(
    settings: FetchSettings = SETTINGS, **politeness: Any
) -> tuple[FetchEngine, VirtualClock, MemoryOutput]:
    clock, output = VirtualClock(), MemoryOutput()
    engine = FetchEngine(
        iter(()),
        settings,
        Politeness(ServerPace(1.0), max_exceptions=2, **politeness),
        EngineHooks(
            lambda host: host.partition(".")[0],
            clock,
            random.Random(1),
            address_of=lambda host: f"address of {host}",
        ),
        output,
    )
    return engine, clock, output


def collections_of(part: object, name: str) -> Iterator[tuple[str, int]]:
    """The sizes of all collections of the engine and of what it is made of."""
    if isinstance(part, dict | set | list | deque):
        yield name, len(part)
    elif type(part).__module__.startswith(("crawl.fetcher.engine", "crawl.fetcher.frontier")):
        names = [each.name for each in fields(part)] if is_dataclass(part) else list(vars(part))
        for each in names:
            value = getattr(part, each)
            if each not in ("engine", "_engine", "queues") or name == "engine":
                yield from collections_of(value, f"{name}.{each}")


@pytest.mark.parametrize("ip_delay_s", [0.0, 1.0])
def test_its_collections_do_not_grow_with_the_hosts_it_meets(
    ip_delay_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawl.fetcher.frontier.queues._LOOK_ABOVE", MOST, raising=False)
    monkeypatch.setattr("crawl.fetcher.engine.engine._FORGET_ABOVE", MOST, raising=False)
    engine, clock, output = fed_engine(ip_delay_s=ip_delay_s)
    added, sizes, troubled = 0, dict[str, int](), set[str]()
    for step in range(60):
        for number in range(16):
            kind = KINDS[number % len(KINDS)]
            for page in ("", "1", "2")[: 3 if kind == "closed" else 1]:
                url = f"http://{kind}-{step}-{number}.org/{page}"
                engine.add(url, DELAYED if kind == "paced" else DUE, clock.now)
                added += 1
        run_virtual(engine, answer_by_host, 10, clock, keep=False)
        clock.now += 20_000.0
        for name, size in collections_of(engine, "engine"):
            sizes[name] = max(size, sizes.get(name, 0))
        troubled |= {trouble.host for trouble in output.host_troubles}
    engine.finish()
    troubled |= {trouble.host for trouble in output.host_troubles}
    assert len(sizes) > 15
    assert {name: size for name, size in sizes.items() if size > 4 * MOST} == {}
    kinds = {kind for kind in KINDS if f"{kind}-3-{KINDS.index(kind)}.org" in troubled}
    assert kinds == {"silent", "unknown", "slow", "failing", "closed"}, "what is forgotten is told"
    counters = engine.counters
    returned = sum(n for name, n in counters.items() if name.startswith("handed_back."))
    targets = counters["redirects_followed"] + counters["redirects_left_for_later"]
    assert len(output.records) + returned == added + targets, "no URL is lost"


def test_a_page_met_of_late_is_not_fetched_again_after_many_others() -> None:
    engine, clock, _ = fed_engine()
    for number in range(5 * MOST):
        engine.add(f"http://good.org/{number}", DUE, clock.now)
        run_virtual(engine, answer_by_host, 10, clock, keep=False)
    for number in range(5 * MOST - MOST // 2, 5 * MOST):
        engine.add(f"http://good.org/{number}", DUE, clock.now)
    assert engine.queues.waiting == 0
    assert engine.counters["already_fetched_here"] == MOST // 2


def test_what_waits_is_not_taken_in_twice() -> None:
    engine, clock, _ = fed_engine()
    for number in range(5 * MOST):
        engine.add(f"http://good.org/{number}", DUE, clock.now)
    for number in range(5 * MOST):
        engine.add(f"http://good.org/{number}", DUE, clock.now)
    assert engine.queues.waiting == engine.counters["already_fetched_here"] == 5 * MOST


def test_a_list_longer_than_what_is_remembered_is_fetched_once_each() -> None:
    """Of a list nothing is forgotten; redirects are left for later when memory is full."""
    urls = [f"http://moved-{n}.org/" for n in range(2 * MOST)]
    output = MemoryOutput()
    engine = FetchEngine(
        iter([(url, DUE) for url in [*urls, *urls[:MOST]]]),
        SETTINGS,
        Politeness(ServerPace(1.0)),
        EngineHooks(lambda host: host, clock := VirtualClock(), random.Random(1)),
        output,
    )
    run_virtual(engine, answer_by_host, 10, clock, keep=False)
    counters = engine.counters
    fetched = [record.url for record in output.records if record.url in urls]
    assert sorted(fetched) == sorted(urls)
    assert counters["already_fetched_here"] == MOST
    assert counters["redirects_followed"] + counters["redirects_left_for_later"] == 2 * MOST


def test_a_server_that_must_be_left_alone_is_never_forgotten() -> None:
    engine, clock, output = fed_engine()
    politely = "http://patient-1.org/"
    engine.add(politely, DUE, clock.now)

    def answer(work: ReadyRequest, now: float) -> tuple[Response | Failure, float]:
        if work.request.url == politely:
            headers = (("Retry-After", "50000"),)
            return Response(politely, 503, headers, b"", sent=now + 1e-9), 0.1
        return answer_by_host(work, now)

    run_virtual(engine, answer, 10, clock, keep=False)
    asked_at = clock.now
    for number in range(20 * MOST):
        engine.add(f"http://failing-{number}.org/", DUE, clock.now)
        run_virtual(engine, answer, 10, clock, keep=False)
        clock.now += 10.0
    assert clock.now < asked_at + 50_000
    assert "patient-1.org" in {trouble.host for trouble in engine.troubles.all_hosts()}
    engine.add("http://patient-1.org/2", DUE, clock.now)
    waiting = engine.next_request(clock.now)
    assert not isinstance(waiting, ReadyRequest)
    assert waiting is not None and waiting.until is not None
    assert waiting.until >= asked_at + 49_999
    assert len(output.host_troubles) > MOST


def test_a_given_up_request_is_forgotten_with_its_answer() -> None:
    engine, *_ = fed_engine(replace(SETTINGS, tail_silence_s=1.0))
    silent = engine._tail.silent

    def request(number: int) -> FetchItem:
        host = f"http://h{number}.org"
        return FetchItem(f"{host}/robots.txt", f"h{number}.org", host, "", DUE, robots_for=host)

    for number in range(3 * MOST):
        now = 10.0 * number
        answered, given_up = request(2 * number), request(2 * number + 1)
        silent.asked(answered, now)
        silent.asked(given_up, now)
        assert silent.answered(answered, now)
        assert silent.give_up_all(now) == []
        assert silent.give_up_all(now + 1) == [given_up]
        if number < 2 * MOST:
            assert not silent.answered(given_up, now + 2), "the answer is passed over"
    assert len(silent._given_up) == MOST
    assert len(silent._slow_hosts) <= 1
    silent.asked(late := request(0), now + 100_000)
    silent.give_up_all(now + 100_000)
    silent.give_up_all(now + 100_001)
    assert list(silent._given_up) == [late], "the driver that had them under way has ended"


def test_idle_queues_are_forgotten_while_there_is_always_more_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("crawl.fetcher.frontier.queues._LOOK_ABOVE", MOST)
    engine, clock, _ = fed_engine(replace(SETTINGS, threads=1, depth=1))
    for number in range(20 * MOST):
        engine.add(f"http://good.org/{number}", DUE, clock.now)
    for number in range(10 * MOST):
        engine.add(f"http://good-{number}.org/", DUE, clock.now)
        while isinstance(work := engine.next_request(clock.now), ReadyRequest):
            engine.handle(work, answer_by_host(work, clock.now)[0], clock.now)
        clock.now += 1.5
    assert engine.queues.waiting > 9 * MOST
    assert len(engine.queues) < 4 * MOST
