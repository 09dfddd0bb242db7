"""urlnormalizer regex: the operator's own rewritings, from regex-normalize.xml."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crawl.config import Config, Property, file, integer
from crawl.interfaces.urlnormalizer import Scope, URLNormalizer
from crawl.plugins.urlnormalizer.regex_file import read_rules
from crawl.plugins.urlnormalizer.substitution import Substitution
from crawl.urls.re2 import ColumnSearch, is_plain

FILE = file("urlnormalizer.regex.file", "regex-normalize.xml", "Rules of the regex normalizer.")
FILES_BY_SCOPE: dict[Scope, Property[str]] = {
    scope: file(f"urlnormalizer.regex.file.{scope}", FILE, f"The same, in the scope {scope}.")
    for scope in Scope
}
MAX_LENGTH = integer(
    "urlnormalizer.regex.max.length",
    8192,
    "Longer URLs are not matched against the rules: a regular expression may take very long.",
    unit="characters",
    minimum=1,
)

_MAX_PASSES = 10


class RegexURLNormalizer(URLNormalizer):
    """Applies the rules in order, again and again until the URL no longer changes.

    A URL on which the rules never settle is left alone, so that the plugin is idempotent
    whatever the rules are.
    """

    def __init__(self, config: Config) -> None:
        self._max_length = config[MAX_LENGTH]
        by_name: dict[str, tuple[tuple[Substitution, ...], ColumnSearch | None]] = {}
        for setting in FILES_BY_SCOPE.values():
            name = config[setting]
            if name not in by_name:
                rules = read_rules(PurePath(name).name, config.read(setting))
                by_name[name] = rules, ColumnSearch.of(rule.pattern for rule in rules)
        self._rules = {scope: by_name[config[setting]] for scope, setting in FILES_BY_SCOPE.items()}

    def normalize(self, url: str, scope: Scope) -> str | None:
        rules, _ = self._rules[scope]
        settling = url
        for _ in range(_MAX_PASSES):
            if len(settling) > self._max_length:
                return url
            before = settling
            for rule in rules:
                settling = rule.apply(settling)
            if settling == before:
                return settling
        return url

    def leaves_alone(self, urls: pa.Array[Any], scope: Scope) -> pa.Array[Any] | None:
        _, search = self._rules[scope]
        if search is None:
            return None
        untouched: pa.BooleanArray = pc.and_not(is_plain(urls), search.matches(urls))
        return untouched
