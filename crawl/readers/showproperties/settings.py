"""Every setting, its value, its unit and where the value came from; secrets are masked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from crawl.config import Config, Property
from crawl.config.properties import CORE
from crawl.config.render import distinct
from crawl.declared import properties_in_use
from crawl.did_you_mean import did_you_mean
from crawl.errors import UsageError
from crawl.masking import masked_setting


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the answer."""

    key: str
    value: object
    unit: str
    origin: str
    kind: str
    about: str
    masked: bool = False
    """Whether the value, or a part of it, is a secret and not shown."""


def properties_of(config: Config) -> list[Property[Any]]:
    """Ours, and those of the plugins that are active."""
    return [*CORE.values(), *properties_in_use(config)]


def settings_in_use(config: Config, *, show_secrets: bool = False) -> list[Setting]:
    """All properties with their values, and the settings that Spark is given, by key; what
    somebody set is masked where it is a secret."""
    lines = [
        Setting(each.name, config[each], each.unit, config.origin(each), each.kind.name, each.about)
        for each in distinct(properties_of(config))
    ]
    for key, value in config.spark_settings().items():
        lines.append(
            Setting(key, value, "", config.settings[key].origin, "text", "Given to Spark.")
        )
    if not show_secrets:
        lines = [_masked(line) if line.key in config.settings else line for line in lines]
    return sorted(lines, key=lambda line: line.key)


def _masked(line: Setting) -> Setting:
    value = masked_setting(line.key, line.value)
    return line if value == line.value else replace(line, value=value, masked=True)


def matching(lines: list[Setting], pattern: str) -> list[Setting]:
    """Those whose key contains the pattern, or fits it where it has wildcards."""
    wildcards = pattern.lower()
    if not any(wildcard in wildcards for wildcard in "*?["):
        wildcards = f"*{wildcards}*"
    matches = [line for line in lines if fnmatchcase(line.key.lower(), wildcards)]
    if not matches:
        near = did_you_mean(pattern, (line.key for line in lines))
        raise UsageError(f"no property matches {pattern!r}{near}")
    return matches
