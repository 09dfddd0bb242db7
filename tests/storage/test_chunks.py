from __future__ import annotations

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest

from crawl.errors import DamagedFile, StorageError
from crawl.storage.chunks import DONE, LAST, OWNER, Chunk, ChunkLog, Piece
from crawl.storage.folder import Folder
from tests.storage.crashing import Crash, crashing

MARKS = "crawl_fetch/chunks/part-00003"


def chunk(number: int) -> Chunk:
    return Chunk(
        {"crawl_fetch": Piece(f"part-{number}.parquet", number, 100 * number)},
        {"records": number},
    )


def claimed(segment: Folder) -> ChunkLog:
    log = ChunkLog(segment, 3)
    log.claim(1000)
    return log


@pytest.fixture
def segment(tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "segment"))


def test_what_is_committed_is_read_in_its_order(segment: Folder) -> None:
    log = claimed(segment)
    assert log.committed() == []
    for number in range(12):
        log.commit(chunk(number))
    expected = [chunk(number) for number in range(12)]
    assert log.committed() == expected
    assert claimed(segment).committed() == expected
    assert ChunkLog(segment, 4).committed() == []


def test_a_part_is_finished_when_it_says_so(segment: Folder) -> None:
    log = claimed(segment)
    assert log.finished() is None
    log.finish({"counters": {"records": 7}})
    assert ChunkLog(segment, 3).finished() == {"counters": {"records": 7}}


@pytest.mark.parametrize("torn", [b"", b'{"counters"', b"[]", b"null", b"\xff"])
def test_a_torn_end_is_no_end(segment: Folder, torn: bytes) -> None:
    segment.write(f"{MARKS}/{DONE}", torn)
    assert ChunkLog(segment, 3).finished() is None


@pytest.mark.parametrize(
    "torn",
    [
        b"",
        b'{"pieces": {"crawl_fetch": {"pa',
        b"[]",
        b"{}",
        b'{"pieces": {"a": {"x": 1}}}',
        b"\xff",
    ],
)
def test_a_damaged_mark_is_reported_and_never_written_over(segment: Folder, torn: bytes) -> None:
    """Marks appear whole: to take this for one that was never finished would be to fetch
    again and to delete what was fetched."""
    log = claimed(segment)
    log.commit(chunk(0))
    segment.write(f"{MARKS}/000001.json", torn)
    with pytest.raises(DamagedFile, match=r"000001\.json is damaged.*crawl check"):
        claimed(segment).committed()
    assert segment.read(f"{MARKS}/000001.json") == torn


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=10)
def test_any_flipped_bit_of_a_mark_is_noticed(segment: Folder) -> None:
    claimed(segment).commit(chunk(7))
    whole = segment.read(f"{MARKS}/000000.json") or b""
    for place in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        segment.write(f"{MARKS}/000000.json", bytes(flipped))
        try:
            assert ChunkLog(segment, 3).committed() == [chunk(7)]
        except DamagedFile:
            continue


def test_a_mark_of_a_former_release_is_read(segment: Folder) -> None:
    segment.write(f"{MARKS}/000000.json", json.dumps(asdict(chunk(3))).encode())
    assert claimed(segment).committed() == [chunk(3)]


def test_a_mark_that_is_missing_before_others_is_reported(segment: Folder) -> None:
    log = claimed(segment)
    for number in range(3):
        log.commit(chunk(number))
    segment.delete(f"{MARKS}/000001.json")
    with pytest.raises(DamagedFile, match=r"000001\.json is damaged: it is missing"):
        claimed(segment).committed()
    assert segment.exists(f"{MARKS}/000002.json")


@pytest.mark.parametrize("left", [None, b"", b'{"pieces": {"crawl_fe', b"\xff"])
def test_a_lost_last_mark_is_restored_from_its_copy(segment: Folder, left: bytes | None) -> None:
    log = claimed(segment)
    for number in range(3):
        log.commit(chunk(number))
    log.finish({"counters": {}})
    whole = segment.read(f"{MARKS}/000002.json")
    segment.delete(f"{MARKS}/000002.json")
    if left is not None:
        segment.write(f"{MARKS}/000002.json", left)
    expected = [chunk(number) for number in range(3)]
    assert ChunkLog(segment, 3).committed() == expected
    assert segment.read(f"{MARKS}/000002.json") == whole
    after = claimed(segment)
    after.committed()
    after.commit(chunk(3))
    assert after.committed() == [*expected, chunk(3)]


@pytest.mark.parametrize("copy", [None, b"", b"{}", b'{"number": 9, "mark": {}}', b"\xff"])
def test_the_marks_count_whatever_became_of_the_copy(segment: Folder, copy: bytes | None) -> None:
    log = claimed(segment)
    for number in range(3):
        log.commit(chunk(number))
    segment.delete(f"{MARKS}/{LAST}")
    if copy is not None:
        segment.write(f"{MARKS}/{LAST}", copy)
    assert claimed(segment).committed() == [chunk(number) for number in range(3)]


def test_a_copy_that_is_behind_hides_no_mark(segment: Folder) -> None:
    """The writer of the last mark died before its copy."""
    log = claimed(segment)
    log.commit(chunk(0))
    behind = segment.read(f"{MARKS}/{LAST}") or b""
    log.commit(chunk(1))
    segment.write(f"{MARKS}/{LAST}", behind)
    assert claimed(segment).committed() == [chunk(0), chunk(1)]


def test_the_last_claim_counts(segment: Folder) -> None:
    first = ChunkLog(segment, 3)
    assert first.claim(1000) is None
    first.commit(chunk(0))
    second = ChunkLog(segment, 3)
    assert second.claim(5000) == 1000
    assert (first.is_ours(), second.is_ours()) == (False, True)
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        first.commit(chunk(1))
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        first.finish({})
    assert second.committed() == [chunk(0)]
    second.commit(chunk(2))
    second.finish({})
    assert second.committed() == [chunk(0), chunk(2)]


@pytest.mark.parametrize("torn", [b"", b'{"token"', b"[]", b'{"claimed_ms": null}'])
def test_a_torn_claim_is_of_just_now(segment: Folder, torn: bytes) -> None:
    first = claimed(segment)
    segment.write(f"{MARKS}/{OWNER}", torn)
    assert not first.is_ours()
    second = ChunkLog(segment, 3)
    assert second.claim(7000) == 7000
    assert second.is_ours()


def test_nobody_commits_without_a_claim(segment: Folder) -> None:
    with pytest.raises(StorageError, match="another task"):
        ChunkLog(segment, 3).commit(chunk(0))


def test_a_mark_that_came_in_between_is_never_written_over(segment: Folder) -> None:
    late, log = claimed(segment), claimed(segment)
    assert log.committed() == []
    # `late` asked whether the part is its own just before `log` claimed it
    late.is_ours = lambda: True  # type: ignore[method-assign]
    late.commit(chunk(1))
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        log.commit(chunk(2))
    assert claimed(segment).committed() == [chunk(1)]


def test_of_many_at_once_one_commits_each_chunk(segment: Folder) -> None:
    def work(worker: int) -> list[int]:
        log = ChunkLog(segment, 3)
        log.claim(worker)
        kept = []
        try:
            for number in range(len(log.committed()), 30):
                log.commit(Chunk(counters={"worker": worker, "number": number}))
                kept.append(number)
        except StorageError:
            pass
        return kept

    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(work, range(8)))
    kept.append(work(8))  # the last of them may have met a mark of one before and given up
    chunks = claimed(segment).committed()
    commits = [(each.counters["number"], each.counters["worker"]) for each in chunks]
    assert [number for number, _ in commits] == list(range(len(chunks)))
    # a mark that its writer was about to finish when another claimed the part may be gone:
    # what it stood for is fetched again, not lost
    assert set(commits) <= {
        (number, worker) for worker, numbers in enumerate(kept) for number in numbers
    }
    assert len(chunks) == 30


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_crash_at_every_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """A task that goes on finds what was committed, and one record a URL at the end."""
    urls = list(range(10))

    def fetch(segment: Folder) -> None:
        log = ChunkLog(segment, 3)
        if log.finished() is not None:
            return
        log.claim(1000)
        done = {url for each in log.committed() for url in map(int, each.counters)}
        left = [url for url in urls if url not in done]
        for place in range(0, len(left), 3):
            log.commit(Chunk(counters={str(url): 1 for url in left[place : place + 3]}))
        log.finish({"counters": {}})

    at = 1
    while True:
        segment = Folder(str(tmp_path / f"crash-{at}"))
        with crashing(monkeypatch, at, share) as fuse, contextlib.suppress(Crash):
            fetch(segment)
        before = ChunkLog(segment, 3).committed()
        fetch(segment)
        after = ChunkLog(segment, 3).committed()
        assert after[: len(before)] == before
        assert sorted(int(url) for each in after for url in each.counters) == urls
        assert ChunkLog(segment, 3).finished() is not None
        if not fuse.burnt:
            break
        at += 1
    assert at > 5
