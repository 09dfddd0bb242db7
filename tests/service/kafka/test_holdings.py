"""The jobs that a fetching process holds."""

from __future__ import annotations

from crawl.service.kafka.holdings import _CARRIED_AFTER, Holdings
from crawl.service.kafka.messages import JobMessage
from crawl.service.values import Job, Priority, Wish


def a_job(url: str, priority: Priority = Priority.NORMAL) -> JobMessage:
    return JobMessage(
        1, Job(id=url, wish=Wish(url=url, priority=priority), url=url, submitted_ms=1)
    )


def test_urgent_ones_come_first_and_hosts_take_turns() -> None:
    holdings = Holdings()
    holdings.open(0, 10)
    for number in range(3):
        holdings.take(0, 10 + number, a_job(f"http://many.test/{number}"), 0)
    holdings.take(0, 13, a_job("http://other.test/"), 0)
    holdings.take(0, 14, a_job("http://urgent.test/", Priority.HIGH), 0)
    holdings.take(0, 15, a_job("http://later.test/"), 500)
    claimed = [held.job.url for held in holdings.claim(10, 100, 2)]
    assert claimed == [
        "http://urgent.test/",
        "http://many.test/0",
        "http://other.test/",
        "http://many.test/1",
    ]
    assert holdings.next_due_ms(100) == 500
    assert [held.job.url for held in holdings.claim(10, 500, 2)] == ["http://later.test/"]


def test_what_is_given_back_is_claimed_again_when_its_time_has_come() -> None:
    holdings = Holdings()
    holdings.open(0, 0)
    holdings.take(0, 0, a_job("http://a.test/"), 0)
    (held,) = holdings.claim(10, 0, 1)
    assert holdings.give_back("http://a.test/", 700) == [held]
    assert holdings.give_back("http://a.test/", 0) == []  # nobody has it claimed
    assert holdings.claim(10, 699, 1) == []
    assert holdings.claim(10, 700, 1) == [held]


def test_a_job_whose_partition_was_lost_is_somebody_elses() -> None:
    holdings = Holdings()
    holdings.open(0, 0)
    holdings.open(1, 0)
    holdings.take(0, 0, a_job("http://a.test/"), 0)
    holdings.take(1, 0, a_job("http://b.test/"), 0)
    claimed = holdings.claim(10, 0, 1)
    holdings.drop([0])
    assert holdings.take(0, 1, a_job("http://c.test/"), 0) is None
    assert holdings.of_url("http://a.test/") == []
    holdings.finish(claimed)  # one of them is not ours to finish
    assert holdings.positions() == {1: 1}
    assert holdings.count == holdings.claimed_count == 0
    # the same host may be asked again when the partition comes back
    holdings.open(0, 0)
    holdings.take(0, 0, a_job("http://a.test/"), 0)
    assert len(holdings.claim(10, 0, 1)) == 1


def test_all_messages_of_a_job_are_done_with_when_it_is() -> None:
    holdings = Holdings()
    holdings.open(0, 0)
    for offset in (0, 1):
        holdings.take(0, offset, a_job("http://a.test/"), 0)
    holdings.pass_over(0, 2)
    held = holdings.of_url("http://a.test/")
    assert [each.offset for each in held] == [0, 1]
    holdings.finish(held)
    assert holdings.positions() == {0: 3}


def test_what_holds_up_many_that_are_done_goes_to_the_end_of_the_topic() -> None:
    holdings = Holdings()
    holdings.open(0, 0)
    slow = [f"http://slow.test/{number}" for number in range(5)]
    for offset, url in enumerate(slow):
        holdings.take(0, offset, a_job(url), 0)
    (asked,) = holdings.claim(10, 0, 1)
    assert holdings.carry() == []
    for number in range(_CARRIED_AFTER):
        holdings.take(0, 5 + number, a_job(f"http://h{number}.test/"), 0)
    holdings.finish([each for each in holdings.claim(9999, 0, 1) if each.host != "slow.test"])
    carried = holdings.carry()
    assert [each.job.url for each in carried] == slow[1:]  # not the one that is asked for
    assert holdings.carry() == []
    assert holdings.claim(10, 0, 9) == []  # they are not asked for meanwhile
    holdings.finish(carried)
    assert holdings.positions() == {0: 0}
    holdings.finish([asked])
    assert holdings.positions() == {0: 5 + _CARRIED_AFTER}
