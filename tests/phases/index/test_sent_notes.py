"""Notes of what was sent become rows of the ledger, whatever was in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.sent_notes import UNKNOWN, SentNotes, UnsettledUrls, note_names
from crawl.storage.folder import Folder
from crawl.storage.layout import bucket_of
from crawl.tables.ranges import StoredGroups

SHARDS = 2
URLS = st.sampled_from(
    [f"http://{host}.com/{page}" for host in "abcdef" for page in ("", "x", "ü")]
)
ROWS = st.dictionaries(URLS, st.integers(0, 9), max_size=12)


def _shard(url: str) -> int:
    return bucket_of(url.split("/")[2], SHARDS)


def _ledger(rows: dict[str, int], groups: int) -> list[pa.Table]:
    records = [
        {
            "writer": "w",
            "url": url,
            "host": url.split("/")[2],
            "version": version,
            "digest": b"d",
            "segment": "",
        }
        for url, version in sorted(rows.items())
    ]
    table = pa.Table.from_pylist(records, schema=INDEX.schema)
    size = max(1, len(records) // groups)
    return [table.slice(start, size) for start in range(0, len(records), size)]


@given(ROWS, st.lists(ROWS, max_size=3), st.integers(1, 4), st.sampled_from([1, SHARDS]))
def test_the_ledger_and_the_notes_are_one(
    ledger: dict[str, int],
    sent: list[dict[str, int]],
    groups: int,
    shards_before: int,
) -> None:
    with tempfile.TemporaryDirectory() as there:
        folder = Folder(there)
        for number, rows in enumerate(sent):
            for shard in range(shards_before):
                here = {
                    url: version
                    for url, version in rows.items()
                    if bucket_of(url.split("/")[2], shards_before) == shard
                }
                notes = SentNotes(folder, f"{number:08x}", shards_before, shard)
                notes.write(
                    pa.table({"url": list(here), "version": pa.array(here.values(), pa.int64())})
                )
        names = note_names(folder)
        for shard in range(SHARDS):
            stored = {url: version for url, version in ledger.items() if _shard(url) == shard}
            expected = {url: (version, b"d") for url, version in stored.items()}
            for rows in sent:
                for url, version in rows.items():
                    if _shard(url) == shard:
                        newest = max(version, expected.get(url, (0, b""))[0])
                        expected[url] = (newest, UNKNOWN)
            unsettled = UnsettledUrls.of_shard(folder, names, SHARDS, shard)
            if unsettled is None:
                assert not sent
                continue
            tables = unsettled.merged(StoredGroups(_ledger(stored, groups), "url"), "w")
            found = [row for table in tables for row in table.to_pylist()]
            assert [row["url"] for row in found] == sorted(expected)
            assert {row["url"]: (row["version"], row["digest"]) for row in found} == expected
            assert all(row["host"] == row["url"].split("/")[2] for row in found)


def test_other_files_are_no_notes(tmp_path: Path) -> None:
    (tmp_path / "sent-x.parquet").write_bytes(b"")
    (tmp_path / "part-00000-12345678.jsonl").write_bytes(b"")
    assert note_names(Folder(str(tmp_path))) == []
