from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl.errors import StorageError, UsageError
from crawl.storage import seeds as seeds_module
from crawl.storage.folder import Folder
from crawl.storage.seeds import SeedLine, SeedPlan, plan_seeds, read_lines
from tests.examples import scaled


def lines_of(data: bytes, max_line: int) -> list[SeedLine]:
    """What a reader without pieces and blocks would say."""
    found = []
    offset = 0
    for line in data.split(b"\n"):
        if offset < len(data):
            kept = line.removesuffix(b"\r") if len(line) <= max_line else None
            found.append(SeedLine(offset, kept))
        offset += len(line) + 1
    return found


def read_all(plan: SeedPlan, max_line: int = 1000) -> list[SeedLine]:
    return [line for piece in plan.pieces for line in read_lines(piece, max_line)]


seed_bytes = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"\r", b"\0", b"a", b"http://x/", b"\xff", b"longer text "]),
    max_size=30,
).map(b"".join)


@given(
    data=seed_bytes,
    piece=st.integers(1, 40),
    block=st.integers(1, 50),
    max_line=st.integers(1, 25),
)
@settings(
    max_examples=scaled(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_pieces_of_any_size_give_every_line_once(
    monkeypatch: pytest.MonkeyPatch, data: bytes, piece: int, block: int, max_line: int
) -> None:
    monkeypatch.setattr(seeds_module, "_BLOCK_BYTES", block)
    folder = Folder("memory://seeds")
    folder.write("any.txt", data)
    plan = plan_seeds(["memory://seeds/any.txt"], piece)
    assert read_all(plan, max_line) == lines_of(data, max_line)
    assert plan.files == 1
    if data:
        assert [each.start for each in plan.pieces] == list(range(0, len(data), piece))
        assert plan.pieces[-1].end == len(data)


@given(st.binary(max_size=200), st.integers(1, 300))
@settings(max_examples=scaled(100), deadline=None)
def test_any_bytes(data: bytes, piece: int) -> None:
    Folder("memory://seeds").write("bytes.txt", b"x" + data)
    plan = plan_seeds(["memory://seeds/bytes.txt"], piece)
    assert read_all(plan) == lines_of(b"x" + data, 1000)


def test_lines_around_the_limit_and_across_the_real_blocks(place: Folder) -> None:
    shuffled = random.Random(7)
    sizes = [63, 64, 65, 1 << 20, (1 << 20) - 1, 3 << 20, 0, 1]
    shuffled.shuffle(sizes)
    data = b"\n".join(b"x" * size for size in sizes)
    place.write("big.txt", data)
    for piece in (1 << 20, (1 << 20) + 1, 700_001, 32 << 20):
        plan = plan_seeds([place.path("big.txt")], piece)
        assert read_all(plan, 64) == lines_of(data, 64)


def test_a_line_longer_than_many_pieces_is_not_read_in_each_to_its_end(
    place: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeds_module, "_BLOCK_BYTES", 10)
    place.write("long.txt", b"x" * 10_000)
    read: list[int] = []
    plan = plan_seeds([place.path("long.txt")], 100)
    opened = Folder.open_read

    class Counted:
        def __init__(self, stream: object) -> None:
            self._stream = stream

        def seek(self, offset: int) -> None:
            self._stream.seek(offset)  # type: ignore[attr-defined]

        def read(self, size: int) -> bytes:
            data: bytes = self._stream.read(size)  # type: ignore[attr-defined]
            read.append(len(data))
            return data

    for piece in plan.pieces:
        with opened(piece.folder, piece.name) as stream:
            start = max(piece.start - 1, 0)
            stream.seek(start)
            assert len(list(seeds_module._lines(Counted(stream), start, piece.end, 20))) == 1  # type: ignore[arg-type]
    assert sum(read) < 2 * 10_000
    assert read_all(plan, 20) == [SeedLine(0, None)]


def test_an_empty_file_has_no_lines(place: Folder) -> None:
    place.write("empty.txt", b"")
    plan = plan_seeds([place.path("empty.txt")])
    assert plan.files == 1
    assert read_all(plan) == []


@pytest.mark.parametrize("data", [b"", b"a\nb\r\nc", b"a\n\n", b"x" * 50 + b"\nb\n"])
def test_gzip_is_known_by_its_content_and_is_one_piece(place: Folder, data: bytes) -> None:
    place.write("seeds.txt", gzip.compress(data))
    plan = plan_seeds([place.path("seeds.txt")], 3)
    assert len(plan.pieces) == 1
    assert plan.pieces[0].gzipped
    assert read_all(plan, 20) == lines_of(data, 20)


def test_gzip_of_several_members(place: Folder) -> None:
    place.write("seeds.gz", gzip.compress(b"a\nb") + gzip.compress(b"c\nd\n") + b"\0\0\0")
    found = read_all(plan_seeds([place.path("seeds.gz")]))
    assert [line.raw for line in found] == [b"a", b"bc", b"d"]


def test_a_damaged_gzip_is_one_line(place: Folder) -> None:
    whole = gzip.compress(os.urandom(3000).hex().encode() * 3)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for damaged in (
        whole[:-5],
        whole[: len(whole) // 2],
        bytes(flipped),
        whole[:5],
        whole[:2],
        gzip.compress(b"a\n") + b"no gzip",
    ):
        place.write("seeds.gz", damaged)
        with pytest.raises(StorageError, match=r"place/seeds.gz: damaged gzip file") as raised:
            read_all(plan_seeds([place.path("seeds.gz")]))
        assert "\n" not in str(raised.value)


def test_folders_are_read_flat_and_in_order(place: Folder) -> None:
    place.write("seeds/b.txt", b"b1\nb2\n")
    place.write("seeds/a.txt.gz", gzip.compress(b"a1\n"))
    place.write("seeds/deep/c.txt", b"c1\n")
    place.write("more.txt", b"m1\n")
    plan = plan_seeds([place.path("seeds") + "/", place.path("more.txt")], 3)
    assert plan.files == 3
    assert plan.skipped_folders == (place.path("seeds/deep"),)
    assert [line.raw for line in read_all(plan)] == [b"a1", b"b1", b"b2", b"m1"]
    assert [piece.order for piece in plan.pieces] == [0, 1, 1, 2]
    assert plan.pieces[1].address == place.path("seeds/b.txt")


def test_a_folder_without_files(place: Folder) -> None:
    place.write("seeds/deep/c.txt", b"c1\n")
    with pytest.raises(UsageError, match="no seed files in this folder"):
        plan_seeds([place.path("seeds")])


def test_a_path_that_is_not_there(place: Folder) -> None:
    with pytest.raises(StorageError, match=r"place/none.txt: no such file or folder"):
        plan_seeds([place.path("none.txt")])


def test_a_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("http://a/\n")
    with pytest.raises(StorageError, match="a part of the path is a file"):
        plan_seeds([str(tmp_path / "file" / "seeds.txt")])


def test_a_file_that_vanishes_before_it_is_read(place: Folder) -> None:
    place.write("seeds.txt", b"http://a/\n")
    plan = plan_seeds([place.path("seeds.txt")])
    place.delete("seeds.txt")
    with pytest.raises(StorageError, match=r"place/seeds.txt: no such file"):
        read_all(plan)


def test_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_bytes(b"a\n")
    (tmp_path / "file").symlink_to(tmp_path / "real" / "a.txt")
    (tmp_path / "folder").symlink_to(tmp_path / "real")
    for name in ("file", "folder"):
        found = read_all(plan_seeds([str(tmp_path / name)]))
        assert [line.raw for line in found] == [b"a"]


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """It has no size and can be read only once: opening it would wait for ever."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises((StorageError, UsageError)):
        plan_seeds([str(tmp_path / "pipe")])


def test_relative_and_root_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "seeds.txt").write_bytes(b"a\n")
    monkeypatch.chdir(tmp_path)
    Folder("memory://").write("at-the-root.txt", b"b\n")
    found = read_all(
        plan_seeds(
            ["seeds.txt", "./seeds.txt", f"file://{tmp_path}/seeds.txt", "memory://at-the-root.txt"]
        )
    )
    assert [line.raw for line in found] == [b"a", b"a", b"a", b"b"]
