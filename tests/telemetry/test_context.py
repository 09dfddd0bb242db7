from __future__ import annotations

import threading

from crawl.telemetry.context import Where, at, described, note, process_at, where


def test_places_are_nested_and_left_again() -> None:
    assert where() == Where()
    with at(crawl="c", phase="fetch"):
        with at(step="fetch", part=3):
            assert where().as_dict() == {"crawl": "c", "phase": "fetch", "step": "fetch", "part": 3}
        assert where() == Where(crawl="c", phase="fetch")
    assert where() == Where()


def test_what_is_found_out_later_is_forgotten_with_the_rest() -> None:
    with at(phase="parse"):
        note(segment="20261115093000")
        assert where() == Where(phase="parse", segment="20261115093000")
    assert where() == Where()


def test_threads_of_a_process_with_one_task_know_where_they_are() -> None:
    heard: list[Where] = []

    def listen() -> None:
        thread = threading.Thread(target=lambda: heard.append(where()))
        thread.start()
        thread.join()

    with at(phase="fetch"):
        listen()
    with process_at(Where(phase="fetch", part=0)):
        listen()
    listen()
    assert heard == [Where(), Where(phase="fetch", part=0), Where()]


def test_part_zero_is_a_part() -> None:
    assert Where(part=0).as_dict() == {"part": 0}


def test_a_step_is_described_with_its_phase_crawl_and_segment() -> None:
    assert described("readdb: dump") == "readdb: dump"
    with at(command="run", crawl="s3://b/c", phase="updatedb", segment="20261115093000"):
        assert described("updatedb: merge") == "updatedb: merge · s3://b/c · 20261115093000"
    with at(command="run", crawl="c", phase="fetch"):
        assert described("fetch") == "fetch: fetch · c"
    with at(command="readdb", crawl="c"):
        assert described("expr") == "readdb: expr · c"
