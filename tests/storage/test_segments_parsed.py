from __future__ import annotations

from pathlib import Path

from crawl.storage.folder import Folder
from crawl.storage.segments import PARSE, PARSE_DATA, PARSED, PartFile, PartManifest, Segment


def _manifest(name: str) -> PartManifest:
    return PartManifest((PartFile(0, name, 1, 2),), 3)


def test_the_parts_of_a_parse_change_together(tmp_path: Path) -> None:
    segment = Segment(Folder(str(tmp_path)), "1")
    assert segment.parsed() == {} and not segment.is_done(PARSE)
    segment.publish_parsed({part: _manifest("one") for part in PARSED})
    segment.publish_parsed({part: _manifest("two") for part in PARSED})
    assert {segment.require(part).files[0].path for part in PARSED} == {"two"}
    (tmp_path / "1" / "PARSED").write_bytes(b'{"crawl_parse"')
    assert {segment.require(part).files[0].path for part in PARSED} == {"two"}


def test_a_single_part_of_a_parse_can_be_published(tmp_path: Path) -> None:
    segment = Segment(Folder(str(tmp_path)), "1")
    segment.publish(PARSE_DATA, _manifest("data"))
    assert not segment.is_done(PARSE)
    segment.publish(PARSE, _manifest("parse"))
    assert segment.require(PARSE_DATA).files[0].path == "data"
    assert segment.require(PARSE).files[0].path == "parse"
