"""What can be asked of snapshots: the list, or the files of the current one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Face, option


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesOptions:
    """The options of the files."""

    files: Annotated[
        bool,
        option(
            "Print the current snapshot's Parquet files instead.",
            selects=True,
            faces=Face.COMMAND_LINE,
        ),
    ] = False
