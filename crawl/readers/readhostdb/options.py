"""What can be asked of readhostdb: one host, the greatest by a column, or a dump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.model.dump_format import DumpFormat
from crawl.operations.options import Positive, option

Condition = Annotated[
    str | None, option("With --top or --dump: only hosts that this Spark SQL condition holds for.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostOptions:
    """The options of a look-up."""

    name: Annotated[
        str,
        option(
            "Everything known of one host. Exit code 1 if it is not there.",
            "--host",
            metavar="NAME",
            positional=True,
            selects=True,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopHostsOptions:
    """The options of the greatest hosts."""

    count: Annotated[
        Positive,
        option(
            "The N greatest hosts by a column.", "--top", metavar="N", positional=True, selects=True
        ),
    ] = 20
    by: Annotated[str, option("With --top: the column.", metavar="COLUMN")] = "urls"
    expr: Condition = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpHostsOptions:
    """The options of a dump."""

    folder: Annotated[
        str,
        option(
            "Write hosts to a new folder.",
            "--dump",
            metavar="FOLDER",
            positional=True,
            selects=True,
        ),
    ]
    format: Annotated[DumpFormat, option("With --dump: of its files.")] = DumpFormat.PARQUET
    columns: Annotated[
        tuple[str, ...],
        option("With --dump: only these columns.", metavar="NAME[,NAME]", commas=True),
    ] = ()
    expr: Condition = None
    overwrite: Annotated[bool, option("With --dump: replace an older dump in FOLDER.")] = False
