"""What becomes of pages when they are indexed: the table of the rules, over columns of
facts; the first line that holds decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from crawl.model.status import Status
from crawl.phases.index.rules import BY_PARSE, BY_STATE, Action, IndexRules

Mask = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What is known of some pages, a column a fact."""

    fetch_status: Codes
    """Of the newest fetch that settled anything; 0 where there is none."""
    db_status: Codes
    """In the CrawlDb; 0 where the URL is not in it, or none is asked."""
    is_applied: Mask
    """Whether the CrawlDb has taken in the segment of that fetch: then it knows better."""
    has_parse: Mask
    is_parsed: Mask
    """Whether the newest parse succeeded."""
    is_noindex: Mask
    """Whether the page asks not to be indexed."""

    def is_now(self, db: tuple[Status, ...], fetch: tuple[Status, ...]) -> Mask:
        """Whether the CrawlDb says so, or a fetch that it does not know yet."""
        by_db = self.is_applied & np.isin(self.db_status, [int(each) for each in db])
        by_fetch = ~self.is_applied & np.isin(self.fetch_status, [int(each) for each in fetch])
        return np.asarray(by_db | by_fetch, dtype=np.bool_)

    @property
    def is_back(self) -> Mask:
        """Whether the page was gone or redirected and is as it was (304): an older fetch of it
        counts."""
        was_away = np.isin(self.fetch_status, [int(status) for status in _AWAY])
        return was_away & self.is_now((Status.DB_FETCHED, Status.DB_NOTMODIFIED), ())


_AWAY = (Status.FETCH_GONE, Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table: where it holds, the page is skipped, or deleted if the rules say so."""

    reason: str
    holds: Callable[[PageFacts, IndexRules], Mask]
    deletes: Callable[[IndexRules], bool] = lambda _: False


_if_gone = attrgetter("delete_gone")

TABLE: tuple[Line, ...] = (
    Line("noindex", lambda facts, _: facts.is_noindex, lambda rules: rules.delete_noindex),
    Line(
        "parse_failed",
        lambda facts, _: (
            (facts.has_parse & ~facts.is_parsed)
            | (facts.is_applied & (facts.db_status == int(Status.DB_PARSE_FAILED)))
        ),
        lambda rules: rules.delete_parse_failed,
    ),
    Line("gone", lambda facts, _: facts.is_now((Status.DB_GONE,), (Status.FETCH_GONE,)), _if_gone),
    Line(
        "redirect",
        lambda facts, _: facts.is_now(
            (Status.DB_REDIR_TEMP, Status.DB_REDIR_PERM),
            (Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM),
        ),
        _if_gone,
    ),
    Line("orphan", lambda facts, _: facts.is_now((Status.DB_ORPHAN,), ()), _if_gone),
    Line(
        "not_fetched",
        lambda facts, _: (facts.fetch_status != int(Status.FETCH_SUCCESS)) & ~facts.is_back,
    ),
    Line("not_parsed", lambda facts, _: ~facts.has_parse),
    Line(
        "not_in_crawldb", lambda facts, rules: (facts.db_status == 0) & np.bool_(rules.uses_crawldb)
    ),
    Line("duplicate", lambda facts, _: facts.db_status == int(Status.DB_DUPLICATE), _if_gone),
    Line(
        "not_modified",
        lambda facts, rules: (
            (facts.db_status == int(Status.DB_NOTMODIFIED)) & np.bool_(rules.skip_not_modified)
        ),
    ),
)
"""After it: a page that an indexing filter drops is skipped, or deleted where
`indexer.delete.skipped.by.indexingfilter` says so; every other one is added."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """What the table says of some pages."""

    actions: npt.NDArray[np.int8]
    lines: npt.NDArray[np.int8]
    """The line that decided; -1 for pages that are to be added."""

    @property
    def is_by_state(self) -> Mask:
        """Which pages nothing but their state keeps out of the index."""
        return self._is_by(BY_STATE)

    @property
    def is_by_parse(self) -> Mask:
        """Of which pages the newest parse decided, and it is the one that counts."""
        return np.asarray((self.lines < 0) | self._is_by(BY_PARSE), dtype=np.bool_)

    def _is_by(self, reasons: frozenset[str]) -> Mask:
        lines = [number for number, line in enumerate(TABLE) if line.reason in reasons]
        return np.asarray(np.isin(self.lines, lines), dtype=np.bool_)

    def counts(self) -> dict[str, int]:
        """How many pages each line skipped (`skipped.gone`) or deletes (`deleted.gone`)."""
        counts: dict[str, int] = {}
        for number, line in enumerate(TABLE):
            decided = self.lines == number
            for action, word in ((Action.SKIP, "skipped"), (Action.DELETE, "deleted")):
                count = int(np.count_nonzero(decided & (self.actions == int(action))))
                if count:
                    counts[f"{word}.{line.reason}"] = count
        return counts


def decide(facts: PageFacts, rules: IndexRules) -> Decisions:
    """Asks the table about all pages at once."""
    rows = len(facts.fetch_status)
    actions = np.full(rows, int(Action.ADD), dtype=np.int8)
    lines = np.full(rows, -1, dtype=np.int8)
    for number, line in enumerate(TABLE):
        here = (lines < 0) & line.holds(facts, rules)
        lines[here] = number
        actions[here] = int(Action.DELETE if line.deletes(rules) else Action.SKIP)
    return Decisions(actions, lines)
