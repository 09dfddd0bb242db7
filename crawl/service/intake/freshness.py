"""How long what is known of a page is fresh enough to be answered, by domain.

# service.fresh.file: one line a host or *.domain, the window behind it
*.wikipedia.org   7d
news.example.com  5min
*.example.com     0
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crawl.config import Config
from crawl.config.property import Property
from crawl.config.quantities import Duration
from crawl.service.settings import FRESH_FAILURES, FRESH_FILE, FRESH_WINDOW
from crawl.service.values import Page
from crawl.urls.host_rules import nearest, rule_host
from crawl.urls.rule_lines import rule_lines

_WINDOW = Duration("s", 0.0)


@dataclass(frozen=True, slots=True)
class Freshness:
    """For how many seconds an answer counts."""

    usual_s: float
    failures_s: float
    """Of what is no page: it may be there the next time."""
    by_host: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config) -> Freshness:
        """Raises ConfigError, with the line, for a rule that is none."""
        return cls(config[FRESH_WINDOW], config[FRESH_FAILURES], _read_rules(config, FRESH_FILE))

    def window_s(self, host: str) -> float:
        """The window of a host: its own line's, or that of the nearest domain above it."""
        own = nearest(self.by_host, host, wildcard_includes_domain=True)
        return self.usual_s if own is None else own

    def is_fresh(self, page: Page, host: str, max_age_s: float | None, now_ms: int) -> bool:
        """Whether the page may answer a wish; one with an age of its own overrides the window, but
        nobody has to live with a failure for longer than failures count."""
        window_s = self.window_s(host) if max_age_s is None else max_age_s
        if not page.is_page and not page.is_redirect:
            window_s = min(window_s, self.failures_s)
        return now_ms - page.fetched_ms < window_s * 1000


def _read_rules(config: Config, file: Property[str]) -> dict[str, float]:
    rules: dict[str, float] = {}
    for line in rule_lines(config, file):
        words = line.text.split()
        if len(words) != 2:
            raise line.wrong(f"expected a host and a window, got {line.text!r}")
        host = rule_host(line, words[0], "a host or *.domain")
        try:
            rules[host] = _WINDOW.of_text(words[1])
        except ValueError:
            raise line.wrong(f"{words[1]!r} is no window such as 5min or 7d") from None
    return rules
