"""crawl robotsparser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from crawl.cli.common.options import with_config
from crawl.cli.common.output import remark
from crawl.cli.common.polite_requests import polite_requests
from crawl.cli.common.url_lines import (
    decoded_argument,
    lines_json_option,
    print_json_line,
    print_line,
    requested_urls,
    stdin_option,
)
from crawl.config import Config
from crawl.errors import StorageError, UsageError
from crawl.fetcher.drivers.single import is_allowlisted, robots_rules_for
from crawl.fetcher.values.settings import FetchSettings
from crawl.robots.answer import Deferred
from crawl.robots.read import MAX_BYTES, read_rules
from crawl.robots.rules import ROBOTS_PATH, RobotRules
from crawl.urls.parse import parse

NOT_ALLOWED = 1


@click.command("robotsparser")
@click.argument("robots", metavar="ROBOTS_FILE_OR_URL")
@click.argument("asked", nargs=-1, metavar="[URL_FILE | URL]...")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAMES",
    help="Names to look for, commas between (default: http.agent.name, http.robots.agents).",
)
@click.option(
    "--details",
    is_flag=True,
    help="Show the rules, the Crawl-delay and the sitemaps too; so without URLs.",
)
@stdin_option
@lines_json_option
@with_config
def command(
    robots: str,
    asked: tuple[str, ...],
    agents: tuple[str, ...],
    details: bool,
    from_stdin: bool,
    as_json: bool,
    config: Config,
) -> int:
    """Show which URLs a robots.txt allows the crawler to fetch: `allowed:`, `not allowed:` or
    `allowlisted:` (http.robot.rules.allowlist), and the URL.

    A file of URLs has one a line. The robots.txt of a host is asked for as a fetch would: by
    the configured protocol, agent and address rules. Exit code 1: a URL is not allowed.

    \b
    Examples:
      crawl robotsparser robots.txt https://example.org/private/ --agent mybot
      crawl robotsparser robots.txt urls.txt --agent mybot,otherbot --details
      crawl robotsparser https://example.org/robots.txt -D http.agent.name=mybot
    """
    if asked and from_stdin:
        raise UsageError("give either URLs or --stdin")
    settings = FetchSettings.of(config)
    named = tuple(name for names in agents for name in names.split(",") if name.strip())
    rules = _rules(robots, named or settings.robots.agents, config)
    if details or not (asked or from_stdin):
        _show_details(robots, rules, as_json=as_json)
    if not asked and not from_stdin:
        return 0 if isinstance(rules, RobotRules) else NOT_ALLOWED
    code = 0
    for url in requested_urls((), from_stdin=True) if from_stdin else _listed(asked):
        verdict = _verdict(rules, url, settings.robots_exempt)
        if verdict == "not allowed":
            code = NOT_ALLOWED
        if as_json:
            print_json_line({"url": url, "verdict": verdict, "allowed": verdict != "not allowed"})
        else:
            print_line(f"{verdict}:", url)
    return code


def _verdict(rules: RobotRules | Deferred, url: str, exempt: frozenset[str]) -> str:
    if is_allowlisted(url, exempt):
        return "allowlisted"
    allowed = isinstance(rules, RobotRules) and rules.allows(url)
    return "allowed" if allowed else "not allowed"


def _rules(robots: str, agents: tuple[str, ...], config: Config) -> RobotRules | Deferred:
    if "://" not in robots:
        return read_rules(_bytes(robots, MAX_BYTES + 1), agents)
    parts = parse(robots)
    if parts is None or parts.scheme not in ("http", "https"):
        raise UsageError(f"{robots!r} is neither a file nor an http(s) URL")
    if parts.path not in ("/", ROBOTS_PATH) or parts.query is not None:
        raise UsageError(f"{robots}: the rules of a host are at {ROBOTS_PATH} and nowhere else")
    with polite_requests("robotsparser", config) as means:
        rules = robots_rules_for(robots, config, means, agents)
    if isinstance(rules, Deferred):
        remark(f"robotsparser: the host must be left alone for now: {_reason_text(rules)}")
    return rules


def _listed(asked: tuple[str, ...]) -> Iterator[str]:
    for argument in asked:
        if "://" in argument:
            yield decoded_argument(argument)
            continue
        for line in _bytes(argument).decode("utf-8", "replace").splitlines():
            if line.strip():
                yield line.strip()


def _bytes(path: str, most: int = -1) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(most)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in its name
        raise UsageError(f"{path!r} is no file: {error}") from error


def _reason_text(rules: Deferred) -> str:
    return f"{rules.reason} ({rules.detail})" if rules.detail else str(rules.reason)


def _show_details(robots: str, rules: RobotRules | Deferred, *, as_json: bool) -> None:
    if as_json:
        print_json_line(_rules_values(robots, rules))
        return
    if isinstance(rules, Deferred):
        print_line(f"# basis: {_reason_text(rules)}")
        return
    print_line(f"# basis: {rules.basis}")
    print_line(
        f"# Crawl-delay: {'none' if rules.crawl_delay_s is None else f'{rules.crawl_delay_s:g}'}"
    )
    for line in rules.rules.splitlines():
        print_line(f"# {line}")
    for sitemap in rules.sitemaps:
        print_line(f"# Sitemap: {sitemap}")


def _rules_values(robots: str, rules: RobotRules | Deferred) -> dict[str, Any]:
    if isinstance(rules, Deferred):
        return {"robots": robots, "basis": rules.reason, "detail": rules.detail}
    return {
        "robots": robots,
        "basis": rules.basis,
        "crawlDelay": rules.crawl_delay_s,
        "rules": rules.rules.splitlines(),
        "sitemaps": rules.sitemaps,
    }
