"""submit as an operation: URLs for a service that runs."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlsplit

from crawl.errors import ServiceUnreachable, UsageError
from crawl.hints import command
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option
from crawl.operations.view import Line, Note, View
from crawl.operations.work import Work
from crawl.printable import printable
from crawl.service.faces.serve_operation import DEFAULT_PORT

KEY_VARIABLE = "NUTRIA_KEY"
_REFUSED = 1
_CONNECT_S = 10.0
_PAGES = (None, "fetch_success", "fetch_notmodified")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitOptions:
    """The options of submit."""

    urls: Annotated[tuple[str, ...], option("URLs to submit.", argument=True)]
    server: Annotated[str, option("Where the service is.", metavar="ADDRESS")] = (
        f"http://127.0.0.1:{DEFAULT_PORT}"
    )
    key: Annotated[
        str | None,
        option(f"API key (default: the environment's {KEY_VARIABLE}).", metavar="KEY"),
    ] = None
    wait: Annotated[
        str | None, option("Wait for the pages, for so long (such as 10s).", metavar="TIME")
    ] = None
    max_age: Annotated[
        str | None,
        option("How old an answer may be (such as 15min); 0: fetch anew.", metavar="TIME"),
    ] = None
    priority: Annotated[str, option("Its class: high, normal or low.", metavar="CLASS")] = "normal"
    tag: Annotated[
        tuple[str, ...], option("A word by which listeners choose.", metavar="WORD")
    ] = ()


def run(work: Work, options: SubmitOptions) -> list[dict[str, Any]]:
    from crawl.service.client.address import as_seconds, checked_address, checked_key

    if not options.urls:
        raise UsageError("expected at least one URL")
    address = checked_address(options.server, "--server")
    named = "--key" if options.key else KEY_VARIABLE
    key = checked_key(options.key or os.environ.get(KEY_VARIABLE) or None, named)
    if options.wait is not None:  # before anything is submitted
        as_seconds(options.wait, "--wait")
    if options.max_age is not None:
        as_seconds(options.max_age, "--max-age")
    _require_listener(address)
    return _submitted(address, key, options)


def _require_listener(address: str) -> None:
    """ServiceUnreachable where nobody listens: a client would try again for as long as it may,
    and whoever types a command has rather forgotten to start the service."""
    parts = urlsplit(address)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname or "", port), _CONNECT_S).close()
    except OSError as error:
        start = command("serve", "CRAWL_DIR")
        why = printable(error.strerror or str(error), 200)
        raise ServiceUnreachable(
            f"{address}: the service cannot be reached: {why}; `{start}` starts one"
        ) from error


def _submitted(address: str, key: str | None, options: SubmitOptions) -> list[dict[str, Any]]:
    from crawl.service.client.blocking import connect

    with connect(address, key=key) as client:
        jobs = client.submit(
            list(options.urls),
            priority=options.priority,
            max_age=options.max_age,
            tags=list(options.tag),
        )
        if options.wait is not None:
            waiting = [job for job in jobs if job.id and not job.is_done]
            ended = {job.id: job for job in client.wait(waiting, options.wait)}
            jobs = [ended.get(job.id, job) for job in jobs]
    return [dict(job.raw) for job in jobs]


def render(jobs: list[dict[str, Any]], asked: Asked) -> View:
    return [Line(_line(job)) for job in jobs] + [Note(_sum(jobs))]


def _line(job: dict[str, Any]) -> str:
    page = job.get("page") or {}
    words = [job["state"], printable(job["url"], 500)]
    # of a page that there is not, what the server said, or that it said nothing
    no_page = page.get("status") if page.get("status") not in _PAGES else None
    reasons = [no_page, page.get("reason") if no_page else None, job.get("reason")]
    told = dict.fromkeys(printable(str(each), 200) for each in reasons if each)
    if told:
        words.append(f"({': '.join(told)})")
    if page.get("title"):
        words.append(f"“{printable(page['title'], 100)}”")
    return " ".join(words)


def _sum(jobs: list[dict[str, Any]]) -> str:
    states: dict[str, int] = {}
    for job in jobs:
        states[job["state"]] = states.get(job["state"], 0) + 1
    return ", ".join(f"{count:,} {state}" for state, count in sorted(states.items()))


def _code(jobs: list[dict[str, Any]], asked: Asked) -> int:
    return _REFUSED if any(job["state"] == "refused" for job in jobs) else 0


OPERATION = Operation(
    name="submit",
    run=run,
    render=render,
    code=_code,
    method="",
    place=Place.NOWHERE,
    help="""
    Submit URLs to a service that runs (`crawl serve`), and show what becomes of them.

    A URL is queued, joined to a job that fetches it already, answered by what is known, or
    refused with the reason. Exit code 1: at least one was refused.
    """,
    examples=(
        "crawl submit https://example.org/a https://example.org/b",
        "crawl submit https://example.org/a --wait 10s --max-age 0 --json",
        "NUTRIA_KEY=nut_… crawl submit https://example.org/a --server https://crawler.example.org",
    ),
)
