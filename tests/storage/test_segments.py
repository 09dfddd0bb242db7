from __future__ import annotations

import json

import pytest

from crawl.errors import DamagedFile, NoSnapshot
from crawl.model.report import Report
from crawl.storage.folder import Folder
from crawl.storage.segments import (
    GENERATE,
    PartFile,
    PartManifest,
    Segments,
    committed_note,
)
from tests.storage.crashing import Crash, crashing

NOW = 1_794_735_000_000  # 2026-11-15 09:30:00 UTC


def write_list(segments: Segments, name: str) -> PartManifest:
    """The files of a fetch list, without its done-mark."""
    folder = segments.segment(name).part_folder(GENERATE)
    folder.write("part-00000-aa.parquet", b"rows")
    folder.write("part-00001-bb.parquet", b"more")
    return PartManifest(
        (PartFile(0, "part-00000-aa.parquet", 3, 4), PartFile(1, "part-00001-bb.parquet", 2, 4)),
        NOW,
    )


def test_a_part_is_there_when_its_manifest_is(place: Folder) -> None:
    segments = Segments(place)
    manifest = write_list(segments, "20261115093000")
    segment = segments.segment("20261115093000")
    assert not segment.is_done(GENERATE)
    assert segment.manifest(GENERATE) is None
    with pytest.raises(NoSnapshot, match="20261115093000 has no finished crawl_generate"):
        segment.require(GENERATE)
    segment.publish(GENERATE, manifest)
    assert segment.is_done(GENERATE)
    assert segment.require(GENERATE) == segment.manifest(GENERATE) == manifest
    assert manifest.rows == 5
    assert not segment.is_done("crawl_fetch")


def test_a_manifest_that_is_cut_or_flipped_is_read_from_its_copy(place: Folder) -> None:
    segments = Segments(place)
    manifest = write_list(segments, "s")
    segment = segments.segment("s")
    segment.publish(GENERATE, manifest)
    name = f"{GENERATE}/manifest.json"
    whole = segment.folder.read(name) or b""
    for number in range(0, len(whole), 7):
        flipped = bytearray(whole)
        flipped[number] ^= 1 << number % 8
        for damaged in (whole[:number], bytes(flipped)):
            segment.folder.write(name, damaged)
            assert segment.manifest(GENERATE) == manifest
    segment.folder.delete(name)
    assert segment.manifest(GENERATE) == manifest


def test_a_manifest_without_a_whole_copy_is_reported_and_nothing_is_swept(place: Folder) -> None:
    segments = Segments(place)
    segments.segment("s").publish(GENERATE, write_list(segments, "s"))
    for name in ("manifest.json", "manifest.json.copy"):
        place.write(f"s/{GENERATE}/{name}", b'{"files": [')
    with pytest.raises(DamagedFile, match=r"manifest\.json is damaged.*crawl check"):
        segments.segment("s").manifest(GENERATE)
    before = place.files()
    segments.sweep_unfinished()
    assert place.files() == before


def test_a_manifest_of_a_former_release_is_read(place: Folder) -> None:
    segments = Segments(place)
    manifest = write_list(segments, "s")
    segment = segments.segment("s")
    segment.folder.write(f"{GENERATE}/manifest.json", json.dumps(manifest.as_dict()).encode())
    assert segment.manifest(GENERATE) == manifest


def test_report(place: Folder) -> None:
    segment = Segments(place).segment("s")
    assert segment.report(GENERATE) == {}
    segment.write_report(GENERATE, Report("generate", NOW, "digest"))
    assert segment.report(GENERATE)["phase"] == "generate"


def test_generated_lists_finished_segments_oldest_first(place: Folder) -> None:
    segments = Segments(place)
    assert segments.generated() == []
    for name in ("20270101000000", "20261115093000", "20261231235959"):
        segments.segment(name).publish(GENERATE, write_list(segments, name))
    write_list(segments, "20261115093001")
    assert [segment.name for segment in segments.generated()] == [
        "20261115093000",
        "20261231235959",
        "20270101000000",
    ]


def test_new_names_are_the_clocks_and_nobodys(place: Folder) -> None:
    segments = Segments(place)
    assert segments.new_names(NOW, 2) == ["20261115093000", "20261115093001"]
    write_list(segments, "20261115093000")
    write_list(segments, "20261115093002")
    assert segments.new_names(NOW + 999, 3) == [
        "20261115093001",
        "20261115093003",
        "20261115093004",
    ]
    assert segments.new_names(NOW, 0) == []


def test_sweep_takes_only_what_was_never_finished(place: Folder) -> None:
    segments = Segments(place)
    segments.sweep_unfinished()
    segments.segment("done").publish(GENERATE, write_list(segments, "done"))
    segments.segment("done").part_folder("crawl_fetch").write("part-0", b"running")
    write_list(segments, "killed")
    write_list(segments, "lost")  # its manifest is gone, and somebody has fetched it
    segments.segment("lost").part_folder("crawl_fetch").write("part-0", b"fetched")
    segments.sweep_unfinished()
    assert {name.partition("/")[0] for name in place.files()} == {"done", "lost"}
    assert segments.segment("done").part_folder("crawl_fetch").read("part-0") == b"running"


def test_complete_publishes_what_a_snapshot_committed(place: Folder) -> None:
    segments = Segments(place)
    manifests = [(name, write_list(segments, name)) for name in ("one", "two")]
    committed = json.loads(json.dumps(committed_note(manifests)))["segments"]
    segments.segment("one").publish(GENERATE, manifests[0][1])
    assert segments.complete(committed) == ["two"]
    assert segments.segment("two").require(GENERATE) == manifests[1][1]
    assert segments.complete(committed) == []


def test_complete_does_not_bring_back_a_deleted_segment(place: Folder) -> None:
    segments = Segments(place)
    committed = committed_note([("one", write_list(segments, "one"))])["segments"]
    place.delete("one")
    assert segments.complete(committed) == []
    assert segments.generated() == []


@pytest.mark.parametrize("place", ["file", "memory"], indirect=True)  # where a write can tear
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_complete_may_be_killed_too(
    place: Folder, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    segments = Segments(place)
    manifests = [(name, write_list(segments, name)) for name in ("one", "two")]
    committed = committed_note(manifests)["segments"]
    for at in (1, 2):
        with crashing(monkeypatch, at, share), pytest.raises(Crash):
            segments.complete(committed)
        segments.complete(committed)
        assert [segment.name for segment in segments.generated()] == ["one", "two"]
        for name, _ in manifests:
            for file in ("manifest.json", "manifest.json.copy"):
                segments.segment(name).folder.delete(f"{GENERATE}/{file}")
