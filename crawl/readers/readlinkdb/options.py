"""What can be asked of readlinkdb: the links to one URL, or a dump."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.model.dump_format import DumpFormat
from crawl.operations.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class InlinksOptions:
    """The options of a look-up."""

    url: Annotated[
        str,
        option(
            "The pages that link to this URL. Exit code 1 if there is none.",
            positional=True,
            selects=True,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpLinksOptions:
    """The options of a dump."""

    folder: Annotated[
        str,
        option(
            "Write the links to a new folder.",
            "--dump",
            metavar="FOLDER",
            positional=True,
            selects=True,
        ),
    ]
    format: Annotated[
        DumpFormat,
        option(
            "With --dump: of its files. parquet and csv have a row a link, json and text one a"
            " URL; csv and text escape what terminals and spreadsheets would obey."
        ),
    ] = DumpFormat.PARQUET
    regex: Annotated[
        str | None, option("With --dump: only URLs that match as a whole (RE2 syntax).")
    ] = None
    overwrite: Annotated[bool, option("With --dump: replace an older dump in FOLDER.")] = False
