"""Answers that are stored together, with the parses of their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crawl.fetcher.values.record import FetchRecord
from crawl.parsing.document import ParsedBatch


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """Its answers go to one segment: the rows of pages that were parsed together cannot be told
    apart."""

    records: Sequence[FetchRecord]
    parsed: Mapping[str, ParsedBatch]
    """By URL."""

    @property
    def has_repeats(self) -> bool:
        """Whether a URL is answered twice."""
        return len({record.url for record in self.records}) < len(self.records)

    def split(self) -> list[AnswerGroup]:
        """As small as may be, in the order in which the answers came: an answer by itself, or
        pages that were parsed together. Where one of these came twice, which parse is whose is
        not known: they are parsed anew, each by itself."""
        together: dict[int, list[FetchRecord]] = {}
        groups: list[list[FetchRecord]] = []
        for record in self.records:
            batch = self.parsed.get(record.url)
            if batch is None:
                groups.append([record])
                continue
            if id(batch) not in together:
                together[id(batch)] = []
                groups.append(together[id(batch)])
            together[id(batch)].append(record)
        split = []
        for records in groups:
            group = AnswerGroup(records, _of(records, self.parsed))
            if group.has_repeats:
                split += [AnswerGroup([record], {}) for record in records]
            else:
                split.append(group)
        return split


def _of(
    records: Sequence[FetchRecord], parsed: Mapping[str, ParsedBatch]
) -> dict[str, ParsedBatch]:
    return {record.url: parsed[record.url] for record in records if record.url in parsed}
