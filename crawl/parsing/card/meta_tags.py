"""Meta tags by name, in the order of the page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from crawl.html.tokens import Attributes

_MAX_NAME = 100
_ATTRIBUTES = ("property", "name", "itemprop")


class MetaTags:
    """Names are lower-case. A tag with several kinds of name counts under each of them."""

    def __init__(self, tags: Iterable[Attributes]) -> None:
        self._pairs: list[tuple[str, str]] = []
        self._values: dict[str, list[str]] = {}
        for attributes in tags:
            content = attributes.get("content")
            if not content or content.isspace():
                continue
            named: set[str] = set()
            for attribute in _ATTRIBUTES:
                written = attributes.get(attribute)
                if not written or len(written) > _MAX_NAME:
                    continue
                name = written.strip().lower()
                if name not in named:
                    named.add(name)
                    self._pairs.append((name, content))
                    self._values.setdefault(name, []).append(content)

    def first(self, *names: str) -> Iterator[str]:
        """The first value of each of these names that there is."""
        for name in names:
            if values := self._values.get(name):
                yield values[0]

    def all(self, name: str) -> Sequence[str]:
        """All values of a name."""
        return self._values.get(name, ())

    def pairs(self, prefixes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Names and values of a vocabulary, in the order of the page."""
        return (pair for pair in self._pairs if pair[0].startswith(prefixes))
