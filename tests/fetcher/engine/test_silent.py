"""Servers that take a request and say nothing do not hold the end of a fetch; in virtual time."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.interfaces.protocol import Failure, FailureKind
from crawl.model.hosts import UNANSWERED, HostTrouble
from tests.fetcher.small_web import REFUSED, Fetched, Page, SmallWeb, fetch

HUNG = Failure("", FailureKind.FIRST_BYTE_TIMEOUT)
TIMEOUT_S = 10.0


def silent_web(pages: dict[str, Page], *silent: str) -> SmallWeb:
    """Hosts that are silent until a request to them has timed out, and others."""
    hung = {f"http://{host}/robots.txt": HUNG for host in silent}
    return SmallWeb({**pages, **hung}, lambda url: TIMEOUT_S if url in hung else 0.1)


def troubles(done: Fetched) -> dict[str, HostTrouble]:
    return {trouble.host: trouble for trouble in done.engine.troubles.all_hosts()}


def quick(web: SmallWeb, urls: list[str], **settings: object) -> Fetched:
    wanted = {"delay_s": 0.5, "tail_wait_s": 60.0, "tail_silence_s": 1.0}
    return fetch(web, urls, **{**wanted, **settings})  # type: ignore[arg-type]


LIVE = [f"http://live.org/{n}" for n in range(3)]
DEAD = [f"http://dead{n}.org/{m}" for n in range(4) for m in range(2)]
HOSTS = [f"dead{n}.org" for n in range(4)]


def test_they_are_handed_back_and_put_off_as_after_a_timeout() -> None:
    alone = quick(SmallWeb(dict.fromkeys(LIVE, "text")), LIVE)
    web = silent_web(dict.fromkeys(LIVE, "text"), *HOSTS)
    done = quick(web, [*DEAD, *LIVE])
    assert set(done.statuses) == set(LIVE)
    assert done.engine.counters[f"handed_back.{UNANSWERED}"] == len(DEAD)
    assert done.engine.counters["robots_requests"] == len(HOSTS) + 1
    assert done.engine.queues.in_progress == done.engine.queues.waiting == 0
    assert done.run.seconds <= alone.run.seconds + 1.2
    assert set(troubles(done)) == set(HOSTS)
    for trouble in troubles(done).values():
        assert (trouble.reason, trouble.base_ms, trouble.gave_up) == (UNANSWERED, 300_000, True)


def test_their_servers_were_asked_and_have_their_pause() -> None:
    done = quick(silent_web(dict.fromkeys(LIVE, "text"), "dead0.org"), [DEAD[0], *LIVE])
    (sent,) = [each for each in done.run.sent if each.host == "dead0.org"]
    assert (sent.begun, sent.ended) == (0.0, done.run.seconds)
    (left,) = [
        each for each in done.engine.queues.server_states(sent.ended) if each.key == "dead0.org"
    ]
    assert left.pause_s == pytest.approx(0.5)


def test_a_server_that_refuses_shows_that_the_network_works() -> None:
    web = silent_web({"http://refuses.org/robots.txt": REFUSED}, *HOSTS)
    done = quick(web, [*DEAD, "http://refuses.org/"])
    assert done.run.seconds < 2
    assert done.engine.counters[f"handed_back.{UNANSWERED}"] == len(DEAD)
    assert done.engine.counters["handed_back.robots_deferred"] == 1


def test_where_none_has_answered_they_are_waited_for() -> None:
    pages: dict[str, Page] = {"http://slow.org/": "text"}
    web = SmallWeb(pages, lambda url: 8.0)
    done = quick(web, ["http://slow.org/"])
    assert set(done.statuses) == set(pages)
    assert not troubles(done)


@pytest.mark.parametrize(
    "settings",
    [
        {"tail_silence_s": math.inf},
        {"hooks": {"is_slow_host": lambda host: host == "slow.org"}},
        {"delay_s": 9.0},
    ],
    ids=["never", "known to be slow", "a usual pause that is longer"],
)
def test_a_slow_server_is_waited_for(settings: dict[str, object]) -> None:
    pages: dict[str, Page] = {"http://slow.org/": "text", "http://live.org/": "text"}
    web = SmallWeb(pages, lambda url: 8.0 if "slow" in url else 0.1)
    done = quick(web, list(pages), **settings)
    assert set(done.statuses) == set(pages)
    assert not troubles(done)


def test_so_is_one_that_is_no_slower_than_others_by_far() -> None:
    pages: dict[str, Page] = {f"http://{host}.org/": "text" for host in ("a", "b", "c")}
    latency = {"a": 0.4, "b": 1.5, "c": 5.5}
    by_c = [url for url in pages if "//c" in url]
    done = quick(SmallWeb(pages, lambda url: latency[url[7]]), [*pages])
    assert set(done.statuses) == set(pages)
    without_b = [url for url in pages if "//b" not in url]
    done = quick(SmallWeb(pages, lambda url: latency[url[7]]), without_b)
    assert set(done.statuses) == set(without_b) - set(by_c)


def test_pages_that_are_under_way_are_never_given_up() -> None:
    """A server that has sent its rules is not silent, however long a page takes."""
    pages: dict[str, Page] = {"http://long.org/": "text", "http://live.org/": "text"}
    web = SmallWeb(pages, lambda url: 60.0 if url == "http://long.org/" else 0.1)
    done = quick(silent_web(pages, *HOSTS), [*pages, *DEAD])
    assert set(done.statuses) == set(pages)
    assert set(quick(web, list(pages)).statuses) == set(pages)


def test_a_list_that_goes_on_does_and_late_answers_are_passed_over() -> None:
    """Silent hosts fill the room for URLs; when they are given up others have their turn."""
    many = [f"http://dead.org/{n}" for n in range(8)] + ["http://refuses.org/"]
    live = [f"http://live.org/{n}" for n in range(40)]
    web = silent_web(
        {**dict.fromkeys(live, "text"), "http://refuses.org/robots.txt": REFUSED}, "dead.org"
    )
    done = quick(web, [*many, *live], threads=3, depth=3)
    assert set(done.statuses) == set(live)
    assert done.run.seconds > TIMEOUT_S
    assert done.engine.counters[f"handed_back.{UNANSWERED}"] == 8
    assert done.engine.queues.in_progress == 0


hosts = st.lists(
    st.tuples(
        st.sampled_from(["text", "refuses", "hangs", "busy"]),
        st.sampled_from([0.01, 0.3, 2.0, 8.0]),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=6,
)


@given(hosts, st.integers(1, 6), st.integers(2, 20))
def test_each_url_has_a_record_or_is_counted(
    servers: list[tuple[str, float, int]], threads: int, depth: int
) -> None:
    answers: dict[str, Page] = {"refuses": REFUSED, "hangs": HUNG, "busy": (503, {}), "text": ""}
    pages: dict[str, Page] = {}
    urls: list[str] = []
    for number, (kind, _, count) in enumerate(servers):
        pages[f"http://h{number}.org/robots.txt"] = answers[kind]
        urls += [f"http://h{number}.org/{page}" for page in range(count)]
    pages |= dict.fromkeys(urls, "text")

    def latency(url: str) -> float:
        kind, seconds, _ = servers[int(url[8])]
        return TIMEOUT_S if kind == "hangs" else seconds

    done = quick(SmallWeb(pages, latency), urls, threads=threads, depth=depth)
    counters = done.engine.counters
    handed_back = sum(n for name, n in counters.items() if name.startswith("handed_back."))
    assert max(Counter(record.url for record in done.records).values(), default=1) == 1
    assert len(done.records) + handed_back == len(urls)
    assert done.engine.queues.in_progress == done.engine.queues.waiting == 0
    assert counters["requests"] == len(done.run.sent)
    silent = {host for host, each in troubles(done).items() if each.reason == UNANSWERED}
    assert all(
        servers[int(host[1])][1] >= 1.0 or servers[int(host[1])][0] == "hangs" for host in silent
    )
