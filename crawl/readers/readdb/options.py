"""What can be asked of readdb: statistics, one URL, the best URLs, or a dump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from crawl.model.dump_format import DumpFormat
from crawl.model.status import DB_STATUSES
from crawl.operations.options import Face, Natural, Positive, SnapshotNumber, option

_HOSTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsOptions:
    """The options of the statistics."""

    stats: Annotated[
        bool,
        option(
            "URLs by status, scores, intervals, retries.", selects=True, faces=Face.COMMAND_LINE
        ),
    ] = False
    sort: Annotated[bool, option("With --stats: also by host, largest first.")] = False
    hosts: Annotated[
        Natural | None, option(f"With --sort: how many hosts (default: {_HOSTS}).")
    ] = None
    snapshot: SnapshotNumber = None

    @property
    def host_count(self) -> int:
        """Of how many hosts the statistics tell."""
        usual = _HOSTS if self.sort else 0
        return usual if self.hosts is None else self.hosts


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupOptions:
    """The options of a look-up."""

    url: Annotated[
        str,
        option(
            "Everything known of one URL. Exit code 1 if it is not there.",
            metavar="URL",
            positional=True,
            selects=True,
        ),
    ]
    snapshot: SnapshotNumber = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopOptions:
    """The options of the best URLs."""

    count: Annotated[
        Positive,
        option(
            "The N URLs with the highest scores.",
            "--top",
            metavar="N",
            positional=True,
            selects=True,
            nutch="-topN",
        ),
    ]
    min_score: Annotated[
        float | None, option("With --top: only scores of at least this.", "--min")
    ] = None
    snapshot: SnapshotNumber = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """The options of a dump."""

    folder: Annotated[
        str,
        option(
            "Write records to a new folder.",
            "--dump",
            metavar="FOLDER",
            positional=True,
            selects=True,
        ),
    ]
    format: Annotated[
        DumpFormat,
        option(
            "With --dump: of its files; parquet and json keep every value, csv and text escape"
            " what terminals and spreadsheets would obey (\\x1b, '=)."
        ),
    ] = DumpFormat.PARQUET
    status: Annotated[
        str | None,
        option(
            "With --dump: only records of this status.",
            metavar=f"[{'|'.join(status.label for status in DB_STATUSES)}]",
        ),
    ] = None
    regex: Annotated[
        str | None, option("With --dump: only URLs that match as a whole (RE2 syntax).")
    ] = None
    retry: Annotated[Natural | None, option("With --dump: only records with N retries.")] = None
    expr: Annotated[
        str | None, option("With --dump: only records that this Spark SQL condition holds for.")
    ] = None
    sample: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        option("With --dump: a share of the records, by chance."),
    ] = None
    overwrite: Annotated[bool, option("With --dump: replace an older dump in FOLDER.")] = False
    snapshot: SnapshotNumber = None
