"""Groups of duplicates as a file: JSON for people and scripts, Parquet for everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crawl.errors import UsageError
from crawl.phases.dedup.tasks.keys import schema_of
from crawl.phases.dedup.values import DuplicateGroup
from crawl.printable import json_text
from crawl.storage.output_file import check_output_file, write_output_file

_SCHEMA = schema_of(
    size=pa.int64(), survivor=pa.string(), duplicates=pa.list_(pa.string()), left_out=pa.int64()
)
_KINDS = (".json", ".parquet")


def check_file(path: str) -> None:
    """Raises UsageError for a name that does not tell what the file is to be, and whatever keeps
    it from being written."""
    if not path.endswith(_KINDS):
        raise UsageError(f"--report: {path!r} ends neither in .json nor in .parquet")
    check_output_file(path)


def groups_report(groups: Sequence[DuplicateGroup], group_count: int) -> dict[str, Any]:
    """The groups as plain values, and how much they leave out of all that were found."""
    return {
        "groups_found": group_count,
        "groups_left_out": group_count - len(groups),
        "urls_left_out": sum(group.left_out for group in groups),
        "groups": [asdict(group) for group in groups],
    }


def write_groups(path: str, groups: Sequence[DuplicateGroup], group_count: int) -> None:
    """Writes the groups, in their order, to a file that was checked; what is left out is told
    beside them, in a Parquet file by its metadata."""
    report = groups_report(groups, group_count)
    if path.endswith(".json"):
        data = (json_text(report) + "\n").encode()
    else:
        rows = report.pop("groups")
        schema = _SCHEMA.with_metadata({name: str(count) for name, count in report.items()})
        sink = BytesIO()
        pq.write_table(pa.Table.from_pylist(rows, schema), sink, compression="zstd")
        data = sink.getvalue()
    write_output_file(path, data)
