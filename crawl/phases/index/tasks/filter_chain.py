"""The active indexing filters in order: they make a document of a page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.indexingfilter import IndexablePage, IndexingFilter
from crawl.interfaces.registry import ResolvedPlugin, resolve
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.documents import IndexDocument
from crawl.phases.index.settings import INDEXINGFILTER_ORDER


@dataclass(frozen=True)
class DocumentMaker:
    """Travels as names and configuration; the plugins are built where they are used."""

    plugins: tuple[ResolvedPlugin, ...]
    scoring: ScoringChain
    config: Config

    @classmethod
    def from_config(cls, config: Config) -> DocumentMaker:
        """The configured chain; raises what is wrong with it."""
        names: tuple[str, ...] = config[INDEXINGFILTER_ORDER]
        made = cls(resolve("indexingfilter", names), ScoringChain.from_config(config), config)
        _ = made._filters
        return made

    @cached_property
    def _filters(self) -> list[tuple[str, IndexingFilter]]:
        return [(plugin.name, plugin.build(self.config)) for plugin in self.plugins]

    def __getstate__(self) -> dict[str, object]:
        return {"plugins": self.plugins, "scoring": self.scoring, "config": self.config}

    @cached_property
    def needs_headers(self) -> bool:
        return any(getattr(each, "needs_headers", False) for _, each in self._filters)

    @cached_property
    def needs_outlinks(self) -> bool:
        return any(getattr(each, "needs_outlinks", False) for _, each in self._filters)

    def make(self, page: IndexablePage, counters: Counters) -> IndexDocument | None:
        """The page's document; None where a filter drops it, which is counted."""
        boost = self.scoring.indexer_score(page.url, page.datum, page.parse, 1.0, counters)
        document = IndexDocument(page.url, page.fetch_time, boost)
        document.fields["id"] = page.url
        if page.segment:
            document.fields["segment"] = page.segment
        if page.signature is not None:
            document.fields["digest"] = page.signature.hex()
        document.fields["boost"] = document.boost
        for name, plugin in self._filters:
            try:
                result = plugin.filter(document, page)
                if result is not None and not isinstance(result, IndexDocument):
                    raise TypeError(f"a document, not {type(result).__name__}")
            except Exception:
                counters[f"plugin_errors.indexingfilter.{name}"] += 1
                continue
            if result is None:
                counters[f"indexing_filters_dropped.{name}"] += 1
                return None
            document = result
        return document
