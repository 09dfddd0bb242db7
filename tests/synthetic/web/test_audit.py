from __future__ import annotations

import pytest

from crawl.synthetic.web import (
    LogEntry,
    RobotsKind,
    Settings,
    Web,
    before_robots,
    by_ip,
    concurrency,
    disallowed,
    duplicates,
    gaps,
)
from crawl.synthetic.web.log import read_entries, write_entry


def entry(began: float, ended: float, host: str = "a", path: str = "/", ip: str = "1") -> LogEntry:
    return LogEntry(began, ended, host, path, ip)


def test_gaps_are_from_end_to_beginning_shortest_first() -> None:
    log = [entry(5.0, 5.5), entry(1.0, 2.0), entry(2.25, 4.0), entry(3.0, 3.1, host="b")]
    found = gaps(log)
    assert [(gap.key, gap.seconds) for gap in found] == [("a", 0.25), ("a", 1.0)]
    assert (found[0].before.began, found[0].after.began) == (1.0, 2.25)


def test_a_gap_counts_from_whichever_answer_ended_last() -> None:
    log = [entry(0.0, 10.0), entry(1.0, 2.0), entry(10.5, 11.0)]
    assert [gap.seconds for gap in gaps(log)] == [-9.0, 0.5]


def test_gaps_by_address_see_what_hosts_hide() -> None:
    log = [entry(0.0, 1.0, "a"), entry(1.25, 2.0, "b")]
    assert gaps(log) == []
    assert [gap.seconds for gap in gaps(log, by_ip)] == [0.25]
    assert [gap.key for gap in gaps(log, lambda entry: "all")] == ["all"]


def test_concurrency_is_the_most_at_one_moment() -> None:
    log = [entry(0, 3), entry(1, 4), entry(2, 5), entry(3, 6), entry(0, 9, "b", ip="2")]
    assert concurrency(log) == {"a": 3, "b": 1}
    assert concurrency(log, lambda entry: "all") == {"all": 4}
    assert concurrency([]) == {}


def test_one_after_the_other_is_not_at_once() -> None:
    assert concurrency([entry(0, 1), entry(1, 2)]) == {"a": 1}


def test_disallowed_asks_the_truth() -> None:
    web = Web(Settings(sites=2, pages=20, robots=(RobotsKind.PRIVATE, RobotsKind.CLOSED)))
    log = [
        *(entry(0, 1, "site0.test", path) for path in ("/robots.txt", "/p1", "/private/p2")),
        *(entry(2, 3, "site1.test", path) for path in ("/robots.txt", "/p1")),
        entry(4, 5, "somewhere.else", "/private/"),
    ]
    found = disallowed(log, web, "nutria")
    assert [(one.host, one.path) for one in found] == [
        ("site0.test", "/private/p2"),
        ("site1.test", "/p1"),
    ]


def test_who_comes_before_robots_txt_was_answered() -> None:
    log = [
        *(entry(0, 1, "a", "/robots.txt"), entry(0.5, 2, "a", "/early"), entry(1, 2, "a", "/p")),
        entry(0, 1, "b", "/never-asked"),
    ]
    assert [one.path for one in before_robots(log)] == ["/never-asked", "/early"]


def test_duplicates_but_for_robots_txt() -> None:
    log = [entry(n, n, "a", path) for n in range(3) for path in ("/robots.txt", "/x")]
    log.append(entry(9, 9, "b", "/x"))
    assert duplicates(log) == {("a", "/x"): 3}
    assert duplicates(log, robots_too=True) == {("a", "/x"): 3, ("a", "/robots.txt"): 3}


def test_entries_survive_being_written() -> None:
    one = LogEntry(
        1.25, 2.5, "a.test", "/x?y", "127.0.0.3", 7, 200, 30_000, "GET", "Bot/1.0 (\xfc)"
    )
    two = LogEntry(3.0, 4.0, "b.test", "/")
    assert list(read_entries(write_entry(one) + write_entry(two))) == [one, two]
    assert list(read_entries(b"")) == []


def test_a_gap_names_both_requests() -> None:
    (gap,) = gaps([entry(0, 1, path="/a"), entry(1.1, 2, path="/b")])
    assert (gap.before.path, gap.after.path) == ("/a", "/b")
    assert gap.seconds == pytest.approx(0.1)
