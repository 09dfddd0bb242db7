"""Crawls whose pages are made by hand, exported; and the records that are then in the folder."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from crawl.phases.export import run as export
from crawl.phases.export.options import ExportOptions
from crawl.phases.export.run import ExportResult
from crawl.phases.export.tasks.output import SUCCESS
from crawl.phases.export.values import ExportFormat, TextKind
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.indexed import IndexedCrawl
from tests.phases.made import NOW


class ExportedCrawl(IndexedCrawl):
    """A crawl in a temporary folder, whose rounds are given, and its exports beside it."""

    def export(
        self, output: str, format: str = "jsonl", text: str | None = None, **options: Any
    ) -> ExportResult:
        kind = None if text is None else TextKind(text)
        asked = ExportOptions(self.place(output), ExportFormat(format), kind, **options)
        clock = ManualClock(NOW)
        return export.run(InProcess(), self.crawl_dir, self.config, asked, clock)

    def place(self, output: str) -> str:
        return str(Path(self.address).parent / output)

    def records(self, output: str) -> dict[str, dict[str, Any]]:
        """The records of an export that is whole, by id; each once."""
        return records_in(Path(self.place(output)))


def records_in(folder: Path) -> dict[str, dict[str, Any]]:
    assert (folder / SUCCESS).exists()
    manifest = json.loads((folder / "manifest.json").read_bytes())
    found: dict[str, dict[str, Any]] = {}
    data = sorted(path for path in (folder / "data").rglob("*") if path.is_file())
    assert [file["path"] for file in manifest["files"]] == [f"data/{path.name}" for path in data]
    for path, noted in zip(data, manifest["files"], strict=True):
        assert path.stat().st_size == noted["bytes"]
        if path.suffix == ".parquet":
            rows = pq.read_table(path).to_pylist()
        else:
            rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        assert len(rows) == noted["records"]
        for row in rows:
            assert row["id"] not in found, row["id"]
            found[row["id"]] = row
    return found
