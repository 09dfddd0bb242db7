"""Rules of which the first that matches decides, asked for a whole column at once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.urls.re2 import ColumnSearch

_ASK_THE_ROW = pa.scalar(None, pa.bool_())


@dataclass(frozen=True, slots=True)
class Rule:
    """`+expression` or `-expression`."""

    accepts: bool
    pattern: re.Pattern[str]
    place: str
    """File and line, for the reason of a rejection."""
    section: str | None = None
    """The host or domain that the rule is for; None: for all."""


class RuleRuns:
    """Consecutive rules of one sign, merged, so that a column is scanned once a run."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._runs = [
            (accepts, ColumnSearch.of(rule.pattern for rule in run))
            for accepts, run in groupby(rules, key=lambda rule: rule.accepts)
        ]

    def verdict(self, urls: pa.Array[Any]) -> pa.Array[Any]:
        """True, false, or null for "ask the row"; to be believed of plain texts only."""
        answer: pa.Array[Any] | pa.BooleanScalar = pa.scalar(False)
        for accepts, search in reversed(self._runs):
            if search is None:
                answer = _ASK_THE_ROW
            else:
                answer = pc.if_else(search.matches(urls), accepts, answer)
        return answer if isinstance(answer, pa.Array) else pa.repeat(answer, len(urls))
