"""Groups of duplicates as a file: JSON for people and scripts, Parquet for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from io import BytesIO

import pyarrow as pa
import pyarrow.parquet as pq

from crawl.buckets.dedup.keys import schema_of
from crawl.buckets.dedup.members import DuplicateGroup
from crawl.errors import UsageError
from crawl.printable import json_text
from crawl.storage.output_file import check_output_file, write_output_file

_SCHEMA = schema_of(size=pa.int64(), survivor=pa.string(), duplicates=pa.list_(pa.string()))
_KINDS = (".json", ".parquet")


def check_file(path: str) -> None:
    """Raises UsageError for a name that does not tell what the file is to be, and whatever keeps
    it from being written."""
    if not path.endswith(_KINDS):
        raise UsageError(f"--report: {path!r} ends neither in .json nor in .parquet")
    check_output_file(path)


def write_groups(path: str, groups: Sequence[DuplicateGroup]) -> None:
    """Writes the groups, in their order, to a file that was checked."""
    rows = [asdict(group) for group in groups]
    if path.endswith(".json"):
        data = (json_text(rows) + "\n").encode()
    else:
        sink = BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, _SCHEMA), sink, compression="zstd")
        data = sink.getvalue()
    write_output_file(path, data)
