"""Which of several records of the same page survives, and what becomes of the others.

`COMPARED` is the table of what can be compared, `parse_order` the order in which a user wants
it, `verdict` what follows for a record. A record that no other repeats any more is db_fetched
again, so that a dedup depends on the pages alone and not on the dedups before it.

It differs from Nutch's on purpose: where all that is compared is the same, one record survives
all the same (the first URL of a host, and of hosts always the same one), and `httpsOverHttp` is
an order of all URLs and not only of two that are else the same, so that it does not matter which
records meet first.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.model.status import Status

DEFAULT_ORDER = "score,fetchTime,urlLength"
"""Nutch's."""
CANONICAL = "canonical"
REDIRECT = "redirect"
EVIDENCE = {CANONICAL: "--canonical", REDIRECT: "--redirects"}
"""What is compared only where evidence was asked for, and by which option."""

COMPARABLE = (Status.DB_FETCHED, Status.DB_NOTMODIFIED, Status.DB_DUPLICATE)
"""Records of pages; those that were duplicates are compared like all others."""
REDIRECTING = (Status.DB_REDIR_TEMP, Status.DB_REDIR_PERM)
"""Records that lead to others: they are no pages, so that they neither survive nor are marked, but
pages on both sides of them are one group."""


class Survivor(Enum):
    """Whose record survives, where two differ in a value."""

    GREATER = "greater"
    LESS = "less"


@dataclass(frozen=True, slots=True)
class Compared:
    """A line of the table: what is compared, and who survives."""

    survivor: Survivor
    bits: int
    """Of the whole number that stands for the value between tasks."""
    about: str


# fmt: off
COMPARED: Mapping[str, Compared] = {
    # name                     survives           bits  what it is
    "score":          Compared(Survivor.GREATER,  32,   "the higher score"),
    "fetchTime":      Compared(Survivor.GREATER,  64,   "the later time at which it is due"),
    "urlLength":      Compared(Survivor.LESS,     32,   "the shorter URL, percent-decoded"),
    "httpsOverHttp":  Compared(Survivor.GREATER,  8,    "https before all other schemes"),
    CANONICAL:        Compared(Survivor.GREATER,  8,    "a URL that pages name as canonical"),
    REDIRECT:         Compared(Survivor.LESS,     8,    "a page that does not redirect elsewhere"),
}
# fmt: on


class Grouping(Enum):
    """Among whose pages duplicates are looked for."""

    NONE = "none"
    HOST = "host"
    DOMAIN = "domain"

    @classmethod
    def of(cls, name: str) -> Grouping:
        """Raises UsageError where there is no such grouping."""
        try:
            return cls(name)
        except ValueError:
            names = [each.value for each in cls]
            raise UsageError(
                f"--group: no group {name!r}{did_you_mean(name, names)}; use none, host or domain"
            ) from None


def parse_order(text: str, evidence: Collection[str] = ()) -> tuple[str, ...]:
    """The names in a list with commas; UsageError for one that is unknown or named twice. What
    evidence tells decides first, unless the list says when."""
    names = tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in COMPARED:
            raise UsageError(
                f"--compare-order: nothing is called {name!r}{did_you_mean(name, COMPARED)};"
                f" known: {', '.join(COMPARED)}"
            )
        if names.count(name) > 1:
            raise UsageError(f"--compare-order: {name} is named twice")
    for name, option in EVIDENCE.items():
        if name in names and name not in evidence:
            raise UsageError(f"--compare-order: {name} is known only with {option}")
    first = (name for name in (REDIRECT, CANONICAL) if name in evidence and name not in names)
    return (*first, *names)


def verdict(*, survives: bool, is_duplicate: bool) -> Status | None:
    """What a record's status becomes; None: it stays."""
    if survives:
        return Status.DB_FETCHED if is_duplicate else None
    return None if is_duplicate else Status.DB_DUPLICATE


class Measure(Enum):
    """By what pages are nearly the same."""

    JACCARD = "jaccard"
    """The share of their texts' word triples that two pages have in common."""
    HAMMING = "hamming"
    """The bits in which their signatures, which must be simhashes, differ."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """From where on pages are near duplicates."""

    measure: Measure
    threshold: float

    @property
    def bits(self) -> int:
        return int(self.threshold)

    @property
    def longer_by(self) -> float:
        """The words that a text may have more than another, however long they are: a date, a note,
        a button. Edits change both sides; what only one side has is an option, a paragraph or a
        section that a reader of the other would miss. On pages of thousands of words no share is
        small enough: most that were joined wrongly were such."""
        return 100 * (1 - self.threshold)

    @classmethod
    def parse(cls, text: str) -> Nearness:
        """`jaccard`, `jaccard=0.5`, `hamming` or `hamming=3`; raises UsageError for others."""
        name, _, value = text.partition("=")
        names = [each.value for each in Measure]
        if name not in names:
            raise UsageError(f"--near: no measure {name!r}{did_you_mean(name, names)}")
        measure = Measure(name)
        least, most, usual = _THRESHOLDS[measure]
        try:
            threshold = float(value or usual)
        except ValueError:
            threshold = float("nan")
        is_whole = measure is Measure.JACCARD or threshold.is_integer()
        if not least <= threshold <= most or not is_whole:
            raise UsageError(
                f"--near: {name} is a number from {least:g} to {most:g}, not {value!r}"
            )
        return cls(measure, threshold)


_THRESHOLDS = {Measure.JACCARD: (0.2, 1.0, 0.95), Measure.HAMMING: (0, 8, 3)}
"""The least, the most and the usual. One word in two hundred changed leaves 97% of a text's
triples, one in fifty 89%, one in ten 57%; titles, headings, lengths and doubt refuse more. Which is
usual was chosen on pages of real documentation (`scripts/bench/run near`)."""
