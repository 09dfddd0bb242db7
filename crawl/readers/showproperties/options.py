"""What can be asked of showproperties: the values, or all properties as a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Face, option


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesOptions:
    """The options of the list of properties."""

    pattern: Annotated[
        str,
        option(
            "A part of the names that are looked for, or a whole name with wildcards.",
            metavar="PATTERN",
            argument=True,
        ),
    ] = ""
    changed: Annotated[bool, option("Only those that differ from their defaults.")] = False
    show_secrets: Annotated[bool, option("Print passwords and tokens as they are.")] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesFileOptions:
    """The options of the properties as a file."""

    toml: Annotated[
        bool,
        option(
            "Every property documented with its default, as conf/crawl-default.toml.",
            selects=True,
            faces=Face.COMMAND_LINE,
        ),
    ] = False
