"""A few examples for each counted reason, so that a report can be understood."""

from __future__ import annotations

from dataclasses import dataclass, field

from crawl.printable import printable

_MAX_CHARACTERS = 200


@dataclass(slots=True)
class Samples:
    """Keeps the first `most` texts of every reason."""

    most: int
    by_reason: dict[str, list[str]] = field(default_factory=dict)

    def wants(self, reason: str) -> bool:
        return len(self.by_reason.get(reason, ())) < self.most

    def add(self, reason: str, text: str | bytes) -> None:
        if not self.wants(reason):
            return
        readable = text.decode(errors="backslashreplace") if isinstance(text, bytes) else text
        self.by_reason.setdefault(reason, []).append(printable(readable, _MAX_CHARACTERS))
