"""The forms of a dump's files."""

from __future__ import annotations

from enum import StrEnum


class DumpFormat(StrEnum):
    """Of the files of a dump."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"
    TEXT = "text"
