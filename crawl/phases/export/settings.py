"""Properties of export."""

from __future__ import annotations

from crawl.config import integer

EXPORT_FILE_RECORDS = integer(
    "export.file.records",
    100_000,
    "Most records in one file of an export.",
    unit="records",
    minimum=1,
)
EXPORT_MARKDOWN_FILES = integer(
    "export.markdown.max.files",
    1_000_000,
    "Most pages that export writes as files of their own; more are refused.",
    unit="files",
    minimum=1,
)
