"""What a crawl would do with a URL or a robots.txt; nothing is sent and nothing is stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from crawl.config import Config
from crawl.errors import UsageError
from crawl.interfaces.chain_steps import filter_steps, normal_form, normalizer_steps
from crawl.interfaces.chains import URLNORMALIZER_LOOP_COUNT, FilterChain, NormalizerChain
from crawl.robots.read import read_rules


@dataclass(frozen=True, slots=True)
class UrlCheck:
    """What normalizers and filters make of a URL."""

    url: str
    normal: str | None
    """In normal form; None for a text that is no URL."""
    accepted: bool
    """Whether the filters let the normal form in."""
    rejected_by: str
    """The filter that does not; empty where all do."""
    reason: str
    steps: tuple[dict[str, Any], ...]
    """What each normalizer and each filter said."""


def check_one_url(url: str, config: Config) -> UrlCheck:
    """Asks the configured normalizers, then the filters."""
    if not isinstance(url, str):
        raise UsageError(f"a URL is a text, not {url!r}")
    normalizing = normalizer_steps(
        NormalizerChain.from_config(config), url, config[URLNORMALIZER_LOOP_COUNT]
    )
    normal = normal_form(url, normalizing)
    filtering = () if normal is None else filter_steps(FilterChain.from_config(config), normal)
    rejection = next((step for step in filtering if step.reason is not None), None)
    return UrlCheck(
        url,
        normal,
        normal is not None and rejection is None,
        rejection.plugin if rejection else "",
        (rejection.reason or "") if rejection else "",
        (*(asdict(step) for step in normalizing), *(asdict(step) for step in filtering)),
    )


def is_allowed_by(robots_txt: bytes | str, url: str, agents: tuple[str, ...]) -> bool:
    """Whether a robots.txt of these bytes allows the URL."""
    raw = robots_txt.encode() if isinstance(robots_txt, str) else robots_txt
    return read_rules(raw, agents).allows(url)
