from __future__ import annotations

from itertools import permutations

from crawl.fetcher.frontier.pauses import strictest
from crawl.fetcher.frontier.queues import ServerState


def test_of_several_states_of_a_server_the_strictest_counts_in_any_order() -> None:
    asked_now = ServerState("a", 3600.0, 2, "")
    told_before = ServerState("a", 5.0, 1, "")
    closed = ServerState("a", 0.0, 0, "too many failures")
    other = ServerState("b", 1.0, 0, "")
    for states in permutations([asked_now, told_before, closed, other]):
        assert strictest(states) == {
            "a": ServerState("a", 3600.0, 2, "too many failures"),
            "b": other,
        }
    assert strictest([]) == {}
