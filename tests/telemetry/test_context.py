from __future__ import annotations

import threading

from crawl.telemetry.context import (
    CrawlContext,
    current_context,
    describe_step,
    in_context,
    process_context,
    update_context,
)


def test_places_are_nested_and_left_again() -> None:
    assert current_context() == CrawlContext()
    with in_context(crawl="c", phase="fetch"):
        with in_context(step="fetch", part=3):
            assert current_context().as_dict() == {
                "crawl": "c",
                "phase": "fetch",
                "step": "fetch",
                "part": 3,
            }
        assert current_context() == CrawlContext(crawl="c", phase="fetch")
    assert current_context() == CrawlContext()


def test_what_is_found_out_later_is_forgotten_with_the_rest() -> None:
    with in_context(phase="parse"):
        update_context(segment="20261115093000")
        assert current_context() == CrawlContext(phase="parse", segment="20261115093000")
    assert current_context() == CrawlContext()


def test_threads_of_a_process_with_one_task_know_where_they_are() -> None:
    contexts: list[CrawlContext] = []

    def listen() -> None:
        thread = threading.Thread(target=lambda: contexts.append(current_context()))
        thread.start()
        thread.join()

    with in_context(phase="fetch"):
        listen()
    with process_context(CrawlContext(phase="fetch", part=0)):
        listen()
    listen()
    assert contexts == [CrawlContext(), CrawlContext(phase="fetch", part=0), CrawlContext()]


def test_part_zero_is_a_part() -> None:
    assert CrawlContext(part=0).as_dict() == {"part": 0}


def test_a_step_is_described_with_its_phase_crawl_and_segment() -> None:
    assert describe_step("readdb: dump") == "readdb: dump"
    with in_context(command="run", crawl="s3://b/c", phase="updatedb", segment="20261115093000"):
        assert describe_step("updatedb: merge") == "updatedb: merge · s3://b/c · 20261115093000"
    with in_context(command="run", crawl="c", phase="fetch"):
        assert describe_step("fetch") == "fetch: fetch · c"
    with in_context(command="readdb", crawl="c"):
        assert describe_step("expr") == "readdb: expr · c"
