"""Notes of pages that are kept out, held against a dict."""

from __future__ import annotations

import tempfile

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.derived_tables import INDEX_KEPT_OUT
from crawl.phases.index.tasks.kept_out import KeptOutNotes
from crawl.storage.folder import Folder
from crawl.tables.bucket_files import BucketTarget, stored_groups, write_bucket

URLS = [f"http://{host}.com/{page}" for host in "abcd" for page in ("", "x", "ü")]
ROWS = st.dictionaries(st.sampled_from(URLS), st.integers(1, 5), max_size=8)


def _table(rows: dict[str, int], segment: str) -> pa.Table:
    records = [
        {"url": url, "host": url.split("/")[2], "version": version, "segment": segment}
        for url, version in sorted(rows.items())
    ]
    return pa.Table.from_pylist(records, schema=INDEX_KEPT_OUT.schema)


@given(ROWS, ROWS, ROWS, st.sampled_from(["", *URLS]), st.integers(1, 3))
def test_the_later_word_counts(
    noted: dict[str, int],
    kept: dict[str, int],
    over: dict[str, int],
    bound: str,
    group_rows: int,
) -> None:
    over = {url: version for url, version in over.items() if url not in kept}
    expected = {
        url: (version, "old")
        for url, version in noted.items()
        if over.get(url, -1) < version and kept.get(url, -1) < version
    }
    expected |= {
        url: (version, "new") for url, version in kept.items() if noted.get(url, -1) <= version
    }
    with tempfile.TemporaryDirectory() as there:
        target = BucketTarget(INDEX_KEPT_OUT, Folder(there), "snapshots/1", group_rows)
        files = write_bucket(target, 0, [_table(noted, "old")])
        with KeptOutNotes(target, 0, files) as notes:
            for end, is_first in ((bound, True), (None, False)):
                here = {url for url in URLS if (url < bound) is is_first}
                notes.merge(
                    end,
                    _table({url: at for url, at in kept.items() if url in here}, "new"),
                    _table({url: at for url, at in over.items() if url in here}, ""),
                )
        rows = [
            row for table in stored_groups(target.folder, notes.files) for row in table.to_pylist()
        ]
        assert [row["url"] for row in rows] == sorted(expected)
        assert {row["url"]: (row["version"], row["segment"]) for row in rows} == expected
        if not kept and not over:
            assert notes.files == files  # and what was written in vain is gone
            assert len(target.folder.files("")) == len(files)
