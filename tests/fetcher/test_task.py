from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from crawl.errors import CrawlError, Locked, StorageError
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.task import STOP, fetch_part
from crawl.interfaces.protocol import Request
from crawl.storage.chunks import CHUNKS, OWNER, ChunkLog, SupersededAttempt
from crawl.storage.segments import FETCH, PartFile
from tests.fetcher.scripted_task import (
    URLS,
    Answer,
    Death,
    Part,
    Script,
    die,
    page,
    pages_asked,
    refuse,
)

pytestmark = pytest.mark.usefixtures("script")


def test_a_part_is_fetched_once(tmp_path: Path) -> None:
    part = Part(tmp_path, URLS)
    done = part.fetch()
    assert done.finished
    assert done.counters["records"] == done.counters["fetch_success"] == 9
    assert part.records() == pages_asked() == Counter(URLS)
    again = part.fetch()
    assert again.finished
    assert (again.chunks, again.counters) == (done.chunks, done.counters)
    assert pages_asked() == Counter(URLS)


def test_after_a_death_only_what_has_no_record_is_asked_for(tmp_path: Path, script: Script) -> None:
    part = Part(tmp_path, URLS)
    script[URLS[4]] = die
    with pytest.raises(Death):
        part.fetch()
    before = part.records()
    assert len(before) < 9
    script.clear()
    done = part.resume()
    assert done.finished
    assert part.records() == Counter(URLS)
    assert done.counters["records"] == done.counters["fetch_success"] == 9
    twice = {url for url, count in pages_asked().items() if count > 1}
    # how many answers were not yet committed is up to the moment, but never one that was
    assert twice.isdisjoint(before)
    assert URLS[4] in twice


def test_a_stop_returns_the_rest_and_it_is_resumed(
    tmp_path: Path,
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    urls = [f"http://h{n % 3}.org/{n}" for n in range(3_000)]
    part = Part(tmp_path, urls, fetcher__checkpoint__records=100)
    part.spec.segment.write(STOP, b"")
    stopped, stop = threading.Event(), FetchEngine.stop

    def stopping(engine: FetchEngine, reason: str) -> None:
        stop(engine, reason)
        stopped.set()

    def slow(request: Request) -> Answer:
        assert stopped.wait(60)
        return page(request)

    monkeypatch.setattr(FetchEngine, "stop", stopping)
    script.update(dict.fromkeys(urls[900:903], slow))  # one of each host
    first = part.fetch()
    assert not first.finished
    got = first.counters["records"]
    assert 3 <= got < 3_000
    assert first.counters["handed_back.interrupted"] == 3_000 - got
    assert sum(part.records().values()) == got
    part.spec.segment.delete(STOP)
    second = part.resume()
    assert second.finished
    assert second.counters["records"] == 3_000
    assert not any(name.startswith("handed_back") for name in second.counters)
    assert set(part.records().values()) == set(pages_asked().values()) == {1}


def test_a_stop_that_comes_when_all_is_done_interrupts_nothing(
    tmp_path: Path, script: Script
) -> None:
    part = Part(tmp_path, ["http://a.org/"])

    def slow(request: Request) -> Answer:
        part.spec.segment.write(STOP, b"")
        threading.Event().wait(1.5)
        return page(request)

    script["http://a.org/"] = slow
    assert part.fetch().finished


def test_what_was_returned_before_a_death_is_counted_once(tmp_path: Path, script: Script) -> None:
    bad = [f"http://bad.org/{n}" for n in range(5)]
    good = [f"http://good.org/{n}" for n in range(5)]
    limit = {"fetcher__max__exceptions__per__queue": 1}
    part = Part(tmp_path, [*bad, *good], **limit)
    script |= dict.fromkeys(bad, refuse)
    script["http://good.org/3"] = die
    with pytest.raises(Death):
        part.fetch()
    assert sum(part.records().values()) > 1
    del script["http://good.org/3"]
    done = part.resume()
    assert done.finished
    left = done.counters["handed_back.too_many_failures"]
    assert done.counters["records"] + left == 10
    assert sum(part.records().values()) == done.counters["records"]


def test_a_task_given_up_for_dead_commits_nothing_more(tmp_path: Path, script: Script) -> None:
    part = Part(tmp_path, URLS)
    segment, number = part.spec.segment, part.file.part
    seen: list[Counter[str]] = []

    def superseded(request: Request) -> Answer:
        ChunkLog(segment, number).claim(0)
        seen.append(part.records())
        return page(request)

    script[URLS[4]] = superseded
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        part.fetch()
    # the chunk that was being written at that moment may still have come through
    assert sum((part.records() - seen[0]).values()) <= 1
    script.clear()
    assert part.resume().finished
    assert part.records() == Counter(URLS)


def test_a_task_that_is_superseded_while_it_waits_notices(tmp_path: Path, script: Script) -> None:
    """Nothing to commit, and yet it must not go on asking."""
    part = Part(tmp_path, ["http://a.org/1", "http://a.org/2"], fetcher__server__delay=3600)

    def superseded(request: Request) -> Answer:
        ChunkLog(part.spec.segment, part.file.part).claim(0)
        return page(request)

    script["http://a.org/1"] = superseded
    part.spec = replace(
        part.spec,
        config=part.spec.config.with_values({"http.robot.rules.allowlist": "a.org"}, "test"),
    )
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        part.fetch()
    assert pages_asked() == Counter(["http://a.org/1"])


@pytest.mark.parametrize("urls", [["http://a.org/1", "http://a.org/2"], ["http://a.org/1"]])
@pytest.mark.parametrize("is_stopped", [False, True])
def test_an_attempt_that_another_one_of_its_fetch_superseded_brings_no_result(
    tmp_path: Path, script: Script, urls: list[str], is_stopped: bool
) -> None:
    """Neither a value nor a CrawlError, which travels as one: the engine would take either for
    what became of the part, and end the attempt that is at work on it."""
    part = Part(tmp_path, urls, http__robot__rules__allowlist="a.org", fetcher__server__delay=0)
    segment, number, run = part.spec.segment, part.file.part, part.spec.run

    def superseded(request: Request) -> Answer:
        ChunkLog(segment, number, run).claim(0)
        if is_stopped:
            segment.write(STOP, b"")
        return page(request)

    script["http://a.org/1"] = superseded
    with pytest.raises(SupersededAttempt):
        part.fetch()
    assert not issubclass(SupersededAttempt, CrawlError)
    script.clear()
    segment.delete(STOP)
    assert part.resume().finished
    assert part.records() == Counter(urls)


def test_a_fetch_that_was_taken_over_does_not_take_its_part_back(
    tmp_path: Path, script: Script
) -> None:
    """Its engine tries a task again that was superseded, while the fetch that took over works."""
    part = Part(tmp_path, URLS)

    def taken_over(request: Request) -> Answer:
        ChunkLog(part.spec.segment, part.file.part, "a later fetch").claim(0)
        return page(request)

    script[URLS[4]] = taken_over
    for _ in range(2):
        with pytest.raises(Locked, match="another task is fetching the same part"):
            part.fetch()
    owner = part.spec.segment.read(f"{CHUNKS}/part-{part.file.part:05d}/{OWNER}") or b""
    assert json.loads(owner)["runs"] == [part.spec.run, "a later fetch"]


def test_a_broken_file_of_a_mark_is_an_error(tmp_path: Path, script: Script) -> None:
    part = Part(tmp_path, URLS)
    script[URLS[4]] = die
    with pytest.raises(Death):
        part.fetch()
    segment = part.spec.segment
    chunk = ChunkLog(segment, part.file.part).committed()[0]
    segment.child(FETCH).write(chunk.pieces[FETCH].path, b"PAR1 and no more")
    with pytest.raises(StorageError, match="is no whole Parquet file"):
        part.resume()


def test_a_missing_list_is_an_error(tmp_path: Path) -> None:
    part = Part(tmp_path, URLS)
    wrong = PartFile(part.file.part, "none.parquet", 9, 0)
    with pytest.raises(StorageError, match="none.parquet is damaged: it is missing"):
        fetch_part(part.spec, wrong)
