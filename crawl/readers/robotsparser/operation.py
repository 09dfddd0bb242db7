"""robotsparser as an operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from crawl.errors import StorageError, UsageError
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option
from crawl.operations.view import Cells, View
from crawl.operations.work import Work

if TYPE_CHECKING:
    from crawl.robots.answer import Deferred
    from crawl.robots.rules import RobotRules

NOT_ALLOWED = 1
_REFUSED = "not allowed"


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotsparserOptions:
    """The options of robotsparser."""

    robots: Annotated[
        str,
        option(
            "A file, or the URL of a host's robots.txt.",
            metavar="ROBOTS_FILE_OR_URL",
            argument=True,
        ),
    ]
    urls: Annotated[
        tuple[str, ...],
        option(
            "URLs, and files of URLs, one a line.", metavar="[URL_FILE | URL]...", argument=True
        ),
    ] = ()
    agents: Annotated[
        tuple[str, ...],
        option(
            "Names to look for, commas between (default: http.agent.name, http.robots.agents).",
            "--agent",
            metavar="NAMES",
            commas=True,
        ),
    ] = ()
    details: Annotated[
        bool, option("Show the rules, the Crawl-delay and the sitemaps too; so without URLs.")
    ] = False


@dataclass(frozen=True, slots=True)
class RobotsDetails:
    """What a robots.txt says to some agents."""

    robots: str
    """The file, or the URL."""
    basis: str
    """`robots_file`, or why there are no rules to go by."""
    is_deferred: bool
    """Whether the host must be left alone for now."""
    is_all: bool
    """Whether no URL is asked about."""
    detail: str = ""
    crawl_delay: float | None = None
    rules: tuple[str, ...] = ()
    sitemaps: tuple[str, ...] = ()

    @property
    def basis_text(self) -> str:
        return f"{self.basis} ({self.detail})" if self.detail else self.basis


@dataclass(frozen=True, slots=True)
class RobotsAnswer:
    """Whether a URL may be fetched, or, where they are asked for, the rules themselves."""

    url: str = ""
    verdict: str = ""
    """`allowed`, `not allowed`, or `allowlisted`."""
    details: RobotsDetails | None = None
    """The rules; this answer is then about no URL."""

    @property
    def is_allowed(self) -> bool:
        return self.verdict != _REFUSED


def run(work: Work, options: RobotsparserOptions) -> Iterator[RobotsAnswer]:
    from crawl.fetcher.drivers.single import is_allowlisted
    from crawl.fetcher.values.settings import FetchSettings
    from crawl.robots.rules import RobotRules

    settings = FetchSettings.of(work.config)
    rules = _read_rules(work, options.robots, options.agents or settings.robots.agents)
    details = _details(options.robots, rules, is_all=not options.urls and work.lines is None)
    if details.is_deferred:
        work.remark(f"the host must be left alone for now: {details.basis_text}")
    if options.details or details.is_all:
        yield RobotsAnswer(details=details)
    for url in _urls_of(options.urls) if work.lines is None else work.lines:
        if is_allowlisted(url, settings.robots_exempt):
            yield RobotsAnswer(url, "allowlisted")
        else:
            is_allowed = isinstance(rules, RobotRules) and rules.allows(url)
            yield RobotsAnswer(url, "allowed" if is_allowed else _REFUSED)


def _read_rules(work: Work, robots: str, agents: Sequence[str]) -> RobotRules | Deferred:
    from crawl.fetcher.drivers.single import robots_rules_for
    from crawl.readers.polite_requests import polite_requests
    from crawl.robots.read import MAX_BYTES, read_rules
    from crawl.robots.rules import ROBOTS_PATH
    from crawl.urls.parse import parse

    if "://" not in robots:
        return read_rules(_read_bytes(robots, MAX_BYTES + 1), agents)
    parts = parse(robots)
    if parts is None or parts.scheme not in ("http", "https"):
        raise UsageError(f"{robots!r} is neither a file nor an http(s) URL")
    if parts.path not in ("/", ROBOTS_PATH) or parts.query is not None:
        raise UsageError(f"{robots}: the rules of a host are at {ROBOTS_PATH} and nowhere else")
    with polite_requests(work) as means:
        return robots_rules_for(robots, work.config, means, tuple(agents))


def _details(robots: str, rules: RobotRules | Deferred, *, is_all: bool) -> RobotsDetails:
    from crawl.robots.answer import Deferred

    if isinstance(rules, Deferred):
        reason = str(rules.reason)
        return RobotsDetails(robots, reason, is_deferred=True, is_all=is_all, detail=rules.detail)
    return RobotsDetails(
        robots,
        str(rules.basis),
        is_deferred=False,
        is_all=is_all,
        crawl_delay=rules.crawl_delay_s,
        rules=tuple(rules.rules.splitlines()),
        sitemaps=tuple(rules.sitemaps),
    )


def _urls_of(arguments: Sequence[str]) -> Iterator[str]:
    """The URLs that were given, and those in files."""
    for argument in arguments:
        if "://" in argument:
            yield argument
            continue
        for line in _read_bytes(argument).decode("utf-8", "replace").splitlines():
            if line.strip():
                yield line.strip()


def _read_bytes(path: str, limit: int = -1) -> bytes:
    from pathlib import Path

    try:
        with Path(path).open("rb") as stream:
            return stream.read(limit)
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # a NUL in its name
        raise UsageError(f"{path!r} is no file: {error}") from error


def render(answer: RobotsAnswer, asked: Asked) -> View:
    details = answer.details
    if details is None:
        return [Cells((f"{answer.verdict}:", answer.url))]
    lines = [f"# basis: {details.basis_text}"]
    if not details.is_deferred:
        delay = details.crawl_delay
        lines.append(f"# Crawl-delay: {'none' if delay is None else f'{delay:g}'}")
        lines += [f"# {line}" for line in details.rules]
        lines += [f"# Sitemap: {sitemap}" for sitemap in details.sitemaps]
    return [Cells((line,)) for line in lines]


def values(answer: RobotsAnswer, asked: Asked) -> dict[str, Any]:
    details = answer.details
    if details is None:
        return {"url": answer.url, "verdict": answer.verdict, "allowed": answer.is_allowed}
    if details.is_deferred:
        return {"robots": details.robots, "basis": details.basis, "detail": details.detail}
    return {
        "robots": details.robots,
        "basis": details.basis,
        "crawlDelay": details.crawl_delay,
        "rules": details.rules,
        "sitemaps": details.sitemaps,
    }


def code(answer: RobotsAnswer, asked: Asked) -> int:
    """Rules that cannot be had are a fault where no URL is asked about."""
    if answer.details is not None:
        return NOT_ALLOWED if answer.details.is_deferred and answer.details.is_all else 0
    return 0 if answer.is_allowed else NOT_ALLOWED


OPERATION = Operation(
    name="robotsparser",
    method="",
    run=run,
    render=render,
    values=values,
    code=code,
    place=Place.NOWHERE,
    streams=True,
    help="""
    Show which URLs a robots.txt allows the crawler to fetch: `allowed:`, `not allowed:` or
    `allowlisted:` (http.robot.rules.allowlist), and the URL.

    A file of URLs has one a line. The robots.txt of a host is asked for as a fetch would: by
    the configured protocol, agent and address rules. Exit code 1: a URL is not allowed.

    With --listen each client sends a URL a line and is answered as on stdin; the first answer has
    the --details too. Ctrl-C ends it with exit code 0.
    """,
    examples=(
        "crawl robotsparser robots.txt https://example.org/private/ --agent mybot",
        "crawl robotsparser robots.txt urls.txt --agent mybot,otherbot --details",
        "crawl robotsparser https://example.org/robots.txt -D http.agent.name=mybot",
    ),
)
