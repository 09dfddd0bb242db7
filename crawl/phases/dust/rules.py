"""What makes a part of a host's URLs dust: which evidence is enough, and of which rules a host
keeps only some."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawl.urls.dust import DustKind, DustRule


@dataclass(frozen=True, slots=True)
class RuleEvidence:
    """What a crawl says of one rule of a host."""

    host: str
    rule: DustRule
    contents: int
    """Different contents that did not change with what the rule takes away: the support."""
    values: int
    """Values, none among them, that those were seen with."""
    urls: int
    """URLs that are the same as another but for it."""
    exceptions: int
    """Those of them whose content is another than that of most of the same."""


@dataclass(frozen=True, slots=True)
class DustBounds:
    """What evidence must be like. Precision comes before recall: to leave out what matters loses
    pages, to keep what does not costs some requests."""

    min_support: int = 10
    """Contents."""
    max_exceptions: float = 0.01
    """Share of the URLs."""
    min_values: int = 3
    """Values of a parameter, none among them: one that was seen with one value, and without, may
    have others that matter."""

    def holds(self, evidence: RuleEvidence) -> bool:
        """Whether it is enough for the rule."""
        named = evidence.rule.kind in (DustKind.PARAM, DustKind.PATH_PARAM)
        return (
            evidence.contents >= self.min_support
            and evidence.values >= (self.min_values if named else 2)
            and self.tolerates(evidence.urls, evidence.exceptions)
        )

    def tolerates(self, urls: int, exceptions: int) -> bool:
        """Whether so many exceptions among so many URLs are few enough."""
        return exceptions <= self.max_exceptions * urls


def strongest(rules: Iterable[RuleEvidence]) -> RuleEvidence:
    """The rule to keep where several together go wrong."""
    return max(rules, key=lambda each: (each.contents, -each.exceptions, str(each.rule)))
