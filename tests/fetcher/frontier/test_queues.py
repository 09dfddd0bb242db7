from __future__ import annotations

from crawl.fetcher.frontier.queue import Idle
from crawl.fetcher.frontier.queue_stats import LongWait, QueueStats, stats_of
from crawl.fetcher.frontier.queues import HostQueues
from crawl.fetcher.values.politeness import Politeness, ServerPace
from tests.fetcher.queued import item, taken


def test_a_server_is_asked_again_after_its_pause_and_not_before() -> None:
    queues = HostQueues(Politeness(ServerPace(5.0)))
    for each in (item("a.org"), item("a.org")):
        assert queues.put(each) == ""
    first = taken(queues, 0.0)
    assert queues.take(0.0) == Idle(None)
    queues.release(first, 1.0, asked=True)
    assert queues.take(5.9) == Idle(6.0)
    assert taken(queues, 6.0).host == "a.org"
    assert (queues.waiting, queues.in_progress) == (0, 1)


def test_servers_are_served_by_the_moment_they_are_ready() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0)))
    for name, moment in (("late", 9.0), ("soon", 3.0), ("middle", 6.0)):
        queues.queue(name).wait_until(moment)
        queues.put(item(name))
    assert queues.take(0.0) == Idle(3.0)
    assert [taken(queues, 10.0).host for _ in range(3)] == ["soon", "middle", "late"]


def test_a_pause_given_while_waiting_is_kept() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0)))
    queues.put(item("a.org"))
    queues.queue("a.org").wait_until(50.0)
    assert queues.take(10.0) == Idle(50.0)
    assert taken(queues, 50.0).host == "a.org"


def test_the_next_engine_keeps_the_pauses_of_the_one_before() -> None:
    before = HostQueues(Politeness(ServerPace(5.0), max_exceptions=3))
    for host in ("asked.org", "failed.org", "closed.org", "idle.org"):
        before.put(item(host))
        before.release(taken(before, 0.0), 100.0 if host == "asked.org" else 1.0, asked=True)
    before.queue("failed.org").exceptions = 2
    before.drain(before.queue("closed.org"), "too_many_failures")
    before.forget_idle(102.0)

    after = HostQueues(Politeness(ServerPace(5.0)))
    after.keep_pauses(before.server_states(102.0), now=7.0)
    assert after.put(item("closed.org")) == "too_many_failures"
    after.put(item("asked.org"))
    assert after.take(9.9) == Idle(10.0), "three seconds of its pause are left"
    assert taken(after, 10.0).host == "asked.org"
    assert after.queue("failed.org").exceptions == 2
    after.put(item("idle.org"))
    assert taken(after, 7.0).host == "idle.org"


def test_a_closed_queue_says_why_also_after_it_was_forgotten() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0)))
    queues.put(item("a.org"))
    queue = queues.queue("a.org")
    queue.exceptions = 3
    assert len(queues.drain(queue, "too_many_failures")) == 1
    assert queues.put(item("a.org")) == "too_many_failures"
    queues.drain(queue)
    assert queues.put(item("a.org")) == "too_many_failures", "emptying does not open it"
    queues.forget_idle(0.0)
    assert len(queues) == 0
    assert queues.put(item("a.org")) == "too_many_failures"
    assert queues.queue("a.org").exceptions == 3
    assert queues.waiting == 0


def test_a_queue_that_is_closed_for_a_time_is_opened_after_it() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0)))
    for host, until in (("a.org", 30.0), ("b.org", 40.0)):
        queues.queue(host).exceptions = 3
        queues.drain(queues.queue(host), "too_many_failures", until)
    queues.drain(queues.queue("c.org"), "too_many_failures")
    queues.forget_idle(0.0)
    queues.reopen(29.9)
    assert queues.put(item("a.org")) == "too_many_failures"
    queues.reopen(30.0)
    assert queues.put(item("a.org")) == ""
    assert queues.queue("a.org").exceptions == 0
    queues.reopen(1e9)
    refused = [queues.put(item(host)) for host in ("b.org", "c.org")]
    assert refused == ["", "too_many_failures"]


def test_a_queue_that_is_closed_again_opens_at_the_later_moment() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0)))
    for until in (30.0, 50.0):
        queues.drain(queues.queue("a.org"), "too_many_failures", until)
    queues.drain(queues.queue("b.org"), "too_many_failures", 40.0)
    opened = [queues.reopen(now) for now in (29.9, 30.0, 40.0, 49.9, 50.0, 60.0)]
    assert opened == [[], [], ["b.org"], [], ["a.org"], []]


def test_past_failures_count_for_as_long_as_the_next_one_would_have_the_server_wait() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0), back_off_s=100.0), max_past=10)
    for number in range(40):
        queues.queue(f"once{number}").exceptions = 1
        queues.queue(f"often{number}").exceptions = 3
        queues.drain(queues.queue(f"closed{number}"), "too_many_failures")
    queues.forget_idle(0.0)
    for now, kept in ((249.9, {"once", "often", "closed"}), (1000.0, {"closed"})):
        queues._look_at_past_above = 10
        queues.forget_past(now)
        states = queues.server_states(now)
        assert {state.key.rstrip("0123456789") for state in states} == kept
    queues.queue("again").exceptions = 3
    queues.forget_idle(2000.0)
    queues._look_at_past_above = 10
    queues.forget_past(2000.0 + 8 * 100.0)
    assert queues.queue("again").exceptions == 3, "up to a quarter more is waited"
    assert queues.put(item("closed3")) == "too_many_failures"


def test_a_few_past_failures_are_not_forgotten() -> None:
    queues = HostQueues(Politeness(ServerPace(0.0)), max_past=10)
    for number in range(10):
        queues.queue(f"h{number}").exceptions = 1
    queues.forget_idle(0.0)
    queues.forget_past(1e9)
    assert len(queues.server_states(1e9)) == 10


def test_a_pace_that_a_record_asked_for_is_kept_for_a_day() -> None:
    queues = HostQueues(Politeness(ServerPace(5.0)))
    queue = queues.queue("own pace")
    queue.pace = ServerPace(60.0)
    queue.wait_until(100.0)
    queues.forget_idle(100.0 + 86_399.0)
    assert len(queues) == 1
    queues.forget_idle(100.0 + 86_400.0)
    assert len(queues) == 0


def test_a_queue_made_anew_is_not_mistaken_for_the_forgotten_one() -> None:
    """The forgotten one may still stand in the heap, where its drained items put it."""
    queues = HostQueues(Politeness(ServerPace(0.0)))
    queues.put(item("a.org"))
    queues.drain(queues.queue("a.org"))
    queues.forget_idle(0.0)
    again = item("a.org")
    queues.put(again)
    assert queues.take(0.0) is again


def test_only_what_has_no_more_to_do_or_to_wait_for_is_forgotten() -> None:
    queues = HostQueues(Politeness(ServerPace(5.0)))
    queues.queue("idle")
    queues.queue("pausing").wait_until(7.0)
    queues.queue("held").awaited_rules = 1
    queues.queue("own pace").pace = ServerPace(1.0)
    queues.queue("robots pace").slow_down(ServerPace(9.0), 9.0)
    queues.put(item("busy"))
    busy = taken(queues, 0.0)
    queues.put(item("waiting"))
    queues.forget_idle(6.9)
    kept = {"pausing", "held", "own pace", "busy", "waiting"}
    assert {queue.key for queue in queues} == kept
    queues.release(busy, 7.0, asked=True)
    queues.forget_idle(7.0)
    assert {queue.key for queue in queues} == kept - {"pausing"}


def test_the_longest_chain_is_in_the_stats() -> None:
    queues = HostQueues(Politeness(ServerPace(5.0), hosts={"fast": ServerPace(2.0, at_once=4)}))
    assert stats_of(queues, 0.0) == QueueStats(0, 0, 0.0)
    for host, urls in (("a.org", 4), ("fast", 9)):
        for _ in range(urls):
            queues.put(item(host))
    assert stats_of(queues, 0.0) == QueueStats(2, 0, 15.0)
    queues.queue("fast").wait_until(20.0)
    waits = (LongWait("fast", "crawl delay", 20.0),)
    assert stats_of(queues, 0.0) == QueueStats(1, 1, 20.0 + 8 * 2.0 / 4, waits=waits)
    assert not isinstance(queues.take(0.0), Idle)
    assert stats_of(queues, 0.0).ready == 0
    assert stats_of(queues, 0.0).waiting == 2


def test_the_stats_have_the_reasons_why_hosts_wait() -> None:
    queues = HostQueues(Politeness(ServerPace(5.0)))
    for host in ("failed", "held", "pausing", "ready"):
        queues.put(item(host))
    queues.queue("failed").exceptions = 2
    queues.queue("failed").wait_until(60.0)
    queues.queue("held").awaited_rules = 1
    queues.queue("pausing").wait_until(3.0)
    stats = stats_of(queues, 0.0)
    assert (stats.ready, stats.waiting) == (1, 3)
    assert (stats.awaiting_robots, stats.backed_off) == (1, 1)
    assert stats_of(queues, 61.0).backed_off == 0
