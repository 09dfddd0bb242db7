"""Rules against dust as lines of a file: `host kind name`, and behind a `#` what spoke for it."""

from __future__ import annotations

from collections.abc import Iterable

from crawl.urls.dust import DustKind, DustRule, is_dust_name
from crawl.urls.host_rules import rule_host
from crawl.urls.rule_lines import RuleLine


def read_dust_line(line: RuleLine) -> tuple[str, DustRule, str]:
    """The host, the rule and the remark of a line; ConfigError says what is wrong with it."""
    words = line.text.split(maxsplit=3)
    if len(words) < 3 or (len(words) == 4 and not words[3].startswith("#")):
        raise line.wrong("expected a host, a kind and a name")
    host = rule_host(line, words[0])
    try:
        kind = DustKind(words[1])
    except ValueError:
        raise line.wrong(f"expected one of {', '.join(DustKind)}, got {words[1]!r}") from None
    if not is_dust_name(kind, words[2]):
        raise line.wrong(f"{words[2]!r} is no name for {kind}")
    return host, DustRule(kind, words[2]), words[3][1:].strip() if len(words) == 4 else ""


def dust_lines(rules: Iterable[tuple[str, DustRule, str]]) -> list[str]:
    """Lines that `read_dust_line` reads, by host."""
    ordered = sorted(rules, key=lambda each: (each[0], each[1]))
    return [
        f"{host} {rule.kind} {rule.name}" + (f"  # {about}" if about else "")
        for host, rule, about in ordered
    ]
