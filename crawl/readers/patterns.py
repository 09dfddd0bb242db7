"""Patterns of URLs that users give."""

from __future__ import annotations

import re

import pyarrow as pa

from crawl.errors import UsageError


def checked_regex(regex: str | None) -> str | None:
    """The pattern, if RE2 understands it."""
    if regex is not None:
        try:
            pa.compute.match_substring_regex(pa.array(["x"]), f"^(?:{regex})$")
        except pa.ArrowInvalid as error:
            reason = re.sub(r"^Invalid regular expression: ", "", str(error))
            raise UsageError(f"--regex {regex!r}: {reason}") from error
    return regex
