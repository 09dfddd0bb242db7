"""What a fetch reports of hosts that failed, and that they do not hold it up; in virtual time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from crawl.fetcher.engine.engine import FetchEngine, ReadyRequest
from crawl.fetcher.frontier.queue_stats import stats_of
from crawl.interfaces.protocol import Failure, FailureKind, Response
from crawl.model.hosts import (
    HostState,
    HostTrouble,
    states_table,
    to_states,
    to_troubles,
    troubles_table,
)
from crawl.readers.explain.selection import describe_trouble
from crawl.rules.host_wait import after_segment
from tests.fetcher.small_web import REFUSED, Answered, Fetched, Page, SmallWeb, fetch

HUNG = Failure("", FailureKind.FIRST_BYTE_TIMEOUT)
UNKNOWN = Failure("", FailureKind.UNKNOWN_HOST)
BEGUN_MS = 1_800_000_000_000


def troubles(done: Fetched) -> dict[str, HostTrouble]:
    return {trouble.host: trouble for trouble in done.engine.troubles.all_hosts()}


def wait_s(trouble: HostTrouble) -> float:
    return (trouble.until - trouble.at) / 1000


def test_dead_hosts_do_not_hold_a_round_in_which_others_were_fetched() -> None:
    live = [f"http://live.org/{n}" for n in range(20)]
    dead = [f"http://dead{n}.org/{m}" for n in range(5) for m in range(3)]
    web = SmallWeb(
        dict.fromkeys(live, "text") | {f"http://dead{n}.org/robots.txt": REFUSED for n in range(5)}
    )
    alone = fetch(SmallWeb(web.pages), live, tail_wait_s=60.0)
    done = fetch(web, [*dead, *live], tail_wait_s=60.0)
    assert set(done.statuses) == set(live)
    assert done.engine.counters["handed_back.robots_deferred"] == len(dead)
    assert done.run.seconds == pytest.approx(alone.run.seconds, abs=1.0)
    assert set(troubles(done)) == {f"dead{n}.org" for n in range(5)}
    assert all(trouble.gave_up for trouble in troubles(done).values())
    assert {trouble.base_ms for trouble in troubles(done).values()} == {300_000}


def test_they_are_asked_again_while_others_are_being_fetched() -> None:
    slow = [f"http://slow.org/{n}" for n in range(400)]

    def fails_twice(times: int) -> Answered:
        return "" if times > 2 else (503, {})

    late: dict[str, Page] = {"http://late.org/robots.txt": fails_twice, "http://late.org/": "here"}
    web = SmallWeb(late | dict.fromkeys(slow, "text"))
    done = fetch(web, ["http://late.org/", *slow], tail_wait_s=60.0)
    assert web.asked["http://late.org/robots.txt"] == 3
    assert "http://late.org/" in done.statuses
    assert not troubles(done)


def test_a_long_crawl_delay_that_is_kept_is_no_trouble() -> None:
    pages = {f"http://slow.org/{n}": "text" for n in range(3)}
    web = SmallWeb({**pages, "http://slow.org/robots.txt": "User-agent: *\nCrawl-delay: 200"})
    done = fetch(web, pages, tail_wait_s=60.0, politeness={"max_crawl_delay_s": -1})
    assert set(done.statuses) == set(pages)
    assert not troubles(done)


def test_a_retry_after_beyond_the_bound_is_kept_by_the_rounds_after() -> None:
    web = SmallWeb({"http://busy.org/1": (503, {"Retry-After": "3600"})})
    done = fetch(web, [f"http://busy.org/{n}" for n in (1, 2, 3)], tail_wait_s=60.0)
    assert done.run.seconds < 60
    assert done.engine.counters["handed_back.pause_beyond_tail_wait"] == 2
    (trouble,) = troubles(done).values()
    assert wait_s(trouble) == pytest.approx(3600, abs=10)
    assert trouble.gave_up


def test_a_retry_after_within_the_bound_is_waited_for() -> None:
    web = SmallWeb({"http://busy.org/1": (503, {"Retry-After": "50"}), "http://busy.org/2": "text"})
    done = fetch(web, ["http://busy.org/1", "http://busy.org/2"], tail_wait_s=60.0)
    assert set(done.statuses) == {"http://busy.org/1", "http://busy.org/2"}
    assert not troubles(done), "it answered since"


def test_without_a_bound_they_are_waited_for() -> None:
    web = SmallWeb({"http://dead.org/robots.txt": REFUSED})
    done = fetch(web, ["http://dead.org/"])
    assert web.asked["http://dead.org/robots.txt"] == 4
    assert done.run.seconds > 900
    assert troubles(done)["dead.org"].gave_up


def test_a_pause_that_is_owed_at_the_end_is_brought_out() -> None:
    web = SmallWeb({"http://busy.org/": (429, {"Retry-After": "600"})})
    (trouble,) = troubles(fetch(web, ["http://busy.org/"], tail_wait_s=60.0)).values()
    assert (trouble.reason, trouble.gave_up) == ("failures", False)
    assert wait_s(trouble) == pytest.approx(600)
    assert trouble.at >= BEGUN_MS


@pytest.mark.parametrize(
    ("pages", "reason", "base_s"),
    [
        ({"http://x.org/robots.txt": HUNG}, "robots_deferred", 300),
        ({"http://x.org/robots.txt": UNKNOWN}, "unknown_host", 300),
        (
            {"http://x.org/robots.txt": "User-agent: *\nCrawl-delay: 99"},
            "crawl_delay_too_long",
            86_400,
        ),
        ({f"http://x.org/{n}": HUNG for n in range(9)}, "too_many_failures", 80),
    ],
)
def test_each_way_to_fail_has_its_reason_and_its_pause(
    pages: dict[str, Any], reason: str, base_s: float
) -> None:
    done = fetch(SmallWeb(pages), [f"http://x.org/{n}" for n in range(9)], tail_wait_s=60.0)
    (trouble,) = troubles(done).values()
    assert (trouble.host, trouble.reason, trouble.gave_up) == ("x.org", reason, True)
    assert base_s <= trouble.base_ms / 1000 <= base_s * 1.25


def test_a_live_scheme_of_the_host_is_fetched_though_the_other_is_dead() -> None:
    web = SmallWeb(
        {"http://x.org/robots.txt": REFUSED, "https://x.org/1": "a", "https://x.org/2": "b"}
    )
    urls = ["http://x.org/", "https://x.org/1", "https://x.org/2"]
    done = fetch(web, urls, tail_wait_s=60.0)
    assert set(done.statuses) == {"https://x.org/1", "https://x.org/2"}


def test_all_hosts_of_a_closed_queue_are_brought_out() -> None:
    """By domain: a.x.org failed too often, b.x.org shares its queue."""
    pages = {f"http://a.x.org/{n}": HUNG for n in range(6)}
    around = {"key_of": lambda host: "x.org"}
    urls = [*pages, "http://b.x.org/1", "http://b.x.org/2"]
    done = fetch(SmallWeb(pages), urls, hooks=around, tail_wait_s=60.0, threads=1, depth=5)
    assert set(troubles(done)) >= {"a.x.org"}
    assert done.engine.counters["handed_back.too_many_failures"] >= 1


def test_a_time_limit_is_no_fault_of_the_hosts() -> None:
    pages = {f"http://x.org/{n}": "text" for n in range(50)}
    done = fetch(SmallWeb(pages), pages, deadline=60.0, tail_wait_s=60.0)
    assert done.engine.counters["handed_back.time_limit"]
    assert not troubles(done)


def test_a_list_longer_than_memory_goes_on_behind_dead_hosts() -> None:
    """Dead hosts fill the room for URLs; the live ones behind them still have their turn."""
    dead = [f"http://dead.org/{n}" for n in range(60)]
    live = [f"http://live.org/{n}" for n in range(5)]
    web = SmallWeb(dict.fromkeys(live, "text") | {"http://dead.org/robots.txt": REFUSED})
    done = fetch(web, [*dead, *live], threads=2, depth=5, tail_wait_s=60.0)
    assert set(done.statuses) == set(live)
    assert done.run.seconds < 100


@dataclass
class SeenWaiting(SmallWeb):
    """Notes with every request who is waited for."""

    engine: FetchEngine | None = None
    seen: dict[str, str] = field(default_factory=dict)

    def answer(self, work: ReadyRequest, now: float) -> tuple[Response | Failure, float]:
        assert self.engine is not None
        waits = stats_of(self.engine.queues, now).waits
        self.seen.update({wait.host: wait.reason for wait in waits})
        return super().answer(work, now)


def test_while_it_waits_the_queues_say_for_whom_and_why() -> None:
    web = SeenWaiting(
        {
            "http://a.org/robots.txt": REFUSED,
            "http://b.org/1": (503, {"Retry-After": "1000"}),
            **{f"http://c.org/{n}": HUNG for n in range(4)},
            "http://d.org/robots.txt": "User-agent: *\nCrawl-delay: 25",
            **{f"http://d.org/{n}": "text" for n in range(90)},
        }
    )
    urls = [f"http://{host}.org/{n}" for host in "abcd" for n in range(1, 9)]
    fetch(web, urls, prepare=lambda engine: setattr(web, "engine", engine))
    assert web.seen == {
        "a.org": "robots.txt unavailable",
        "b.org": "Retry-After",
        "c.org": "failures",
        "d.org": "crawl delay",
    }


@pytest.mark.parametrize("asked", ["9" * 30, "1e300", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_no_pause_is_too_long_to_be_stored(asked: str) -> None:
    pages: dict[str, Page] = {
        "http://a.org/": (503, {"Retry-After": asked}),
        "http://b.org/robots.txt": (503, {"Retry-After": asked}),
        "http://c.org/robots.txt": f"User-agent: *\nCrawl-delay: {asked}",
        "http://c.org/": "text",
    }
    found = troubles(
        fetch(SmallWeb(pages), [f"http://{host}.org/" for host in "abc"], tail_wait_s=60.0)
    )
    assert {"a.org", "b.org"} <= set(found)
    assert troubles_table(found.values()).num_rows == len(found)
    assert all(trouble.until < 10**14 for trouble in found.values())


def _failing(kind: FailureKind) -> Failure:
    return Failure("", kind, "a library's words")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((503, {"Retry-After": "3600"}), "503, Retry-After 3600"),
        ((429, {"Retry-After": "Fri, 15 Jan 2027 09:00:00 GMT"}), "429, Retry-After Fri, 15 Jan"),
        ((503, {}), "503"),
        ((500, {}), "500"),
        ((407, {}), "407"),
        (_failing(FailureKind.CONNECT_REFUSED), "no connection (connect_refused)"),
        (_failing(FailureKind.CONNECT_TIMEOUT), "no connection (connect_timeout)"),
        (_failing(FailureKind.TLS), "no connection (tls)"),
        (_failing(FailureKind.PROXY), "no connection (proxy)"),
        (_failing(FailureKind.UNKNOWN_HOST), "no address (unknown_host)"),
        (_failing(FailureKind.FIRST_BYTE_TIMEOUT), "no answer (first_byte_timeout)"),
        (_failing(FailureKind.DISCONNECTED), "no whole answer (disconnected)"),
        (_failing(FailureKind.LOW_SPEED), "no whole answer (low_speed)"),
        (_failing(FailureKind.TOTAL_TIMEOUT), "no whole answer (total_timeout)"),
    ],
)
@pytest.mark.parametrize("asked", ["page", "robots.txt"])
def test_explain_tells_what_the_host_said(answer: Any, said: str, asked: str) -> None:
    """From the answer to the sentence: as the fetch tells it, as the CrawlDb keeps it."""
    pages = [f"http://x.org/{n}" for n in range(12)]
    answers = ["http://x.org/robots.txt"] if asked == "robots.txt" else pages
    done = fetch(SmallWeb(dict.fromkeys(answers, answer)), pages, tail_wait_s=60.0)
    (told,) = to_troubles(troubles_table(troubles(done).values()))
    state = after_segment(HostState("x.org"), told, 0, 10**12)
    (kept,) = to_states(states_table([state]))
    sentence = describe_trouble(kept)
    assert "answered nothing" not in sentence
    assert sentence.startswith("the host gave no page in 1 round: ")
    if asked == "page" or "unknown_host" in said:
        assert f": {said}" in sentence
    elif isinstance(answer, Failure):
        assert ": robots.txt: not to be had (a library's words) (" in sentence
    elif answer[0] == 407:
        assert ": robots.txt: not to be had (407 by the proxy) (" in sentence
    else:
        assert f": robots.txt: {answer[0]}" in sentence
        assert ("Retry-After" in sentence) == bool(answer[1])
    assert after_segment(kept, None, kept.last + 1, 10**12).said == ""


def test_what_an_older_version_wrote_says_nothing() -> None:
    state = HostState("x.org", "failures", 1, last=BEGUN_MS)
    old = states_table([state]).drop_columns(["said"])
    assert list(to_states(old)) == [state]
    assert describe_trouble(state).startswith("the host gave no page in 1 round (failures, last")
    trouble = HostTrouble("x.org", "failures", 1, 2, 3, True)
    assert list(to_troubles(troubles_table([trouble]).drop_columns(["said"]))) == [trouble]
