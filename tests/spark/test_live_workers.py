"""Dead workers that a standalone master still lists."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from crawl.spark.live_workers import LiveWorkers


@contextmanager
def worker() -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


def test_a_worker_whose_port_is_closed_is_gone() -> None:
    with worker() as dead:
        pass
    with worker() as alive:
        assert LiveWorkers().among([alive, dead]) == {alive}


def test_where_nobody_can_be_asked_the_list_counts() -> None:
    with worker() as first, worker() as second:
        pass
    assert LiveWorkers().among([first, second]) == {first, second}
    assert LiveWorkers().among([]) == set()


def test_who_cannot_be_found_may_live() -> None:
    unknown = ("no-such-host.invalid", 7077)
    with worker() as alive:
        assert LiveWorkers().among([alive, unknown]) == {alive, unknown}


def test_nobody_is_asked_twice() -> None:
    workers = LiveWorkers()
    with worker() as first, worker() as second:
        assert workers.among([first]) == {first}
        assert workers.among([first, second]) == {first, second}
    assert workers.among([first, second]) == {first, second}
