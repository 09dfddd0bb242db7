"""What several tasks tell of one server."""

from __future__ import annotations

from itertools import permutations

from crawl.storage.server_pauses import ServerPause, last_pauses


def test_of_several_pauses_of_a_server_the_longest_counts_in_any_order() -> None:
    first = ServerPause("a", 9_000, 3, 9_000, 0.0, "failed", told_ms=1_000)
    given_up = ServerPause("a", 0, 0, 0, 0.0, "", told_ms=2_000, closed="too many failures")
    last = ServerPause("a", 5_000, 1, 6_000, 2.0, "Crawl-delay", told_ms=3_000)
    other = ServerPause("b", 1, 0, 0, 0.0, "", told_ms=1)
    joined = ServerPause("a", 9_000, 1, 6_000, 2.0, "Crawl-delay", 3_000, "too many failures")
    for pauses in permutations([first, given_up, last, other]):
        assert sorted(last_pauses(pauses), key=lambda each: each.server) == [joined, other]
    assert last_pauses([]) == []
