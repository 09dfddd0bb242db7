"""filterchecker as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from crawl.interfaces.chain_steps import FilterStep, filter_steps
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option
from crawl.operations.view import Cells, View
from crawl.operations.work import Work

REJECTED = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FiltercheckerOptions:
    """The options of filterchecker."""

    urls: Annotated[tuple[str, ...], option("URLs.", metavar="[URL]...", argument=True)] = ()
    filters: Annotated[
        tuple[str, ...],
        option(
            "Ask this filter instead of those in urlfilter.order (repeatable).",
            "--filter-name",
            metavar="PLUGIN",
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class FilterAnswer:
    """What the filters say of a URL."""

    url: str
    accepted: bool
    filter: str | None
    """The one that rejects it."""
    reason: str | None
    steps: tuple[FilterStep, ...]


def run(work: Work, options: FiltercheckerOptions) -> Iterator[FilterAnswer]:
    from crawl.interfaces.chains import FilterChain
    from crawl.interfaces.registry import resolve

    if options.filters:
        chain = FilterChain(resolve("urlfilter", options.filters), work.config)
    else:
        chain = FilterChain.from_config(work.config)
    chain.build()
    for url in work.incoming(options.urls):
        steps = filter_steps(chain, url)
        for step in steps:
            if step.fault:
                work.remark(f"{step.plugin} failed and was skipped: {step.fault}")
        rejection = next((step for step in steps if step.reason is not None), None)
        if rejection is None:
            yield FilterAnswer(url, True, None, None, steps)
        else:
            yield FilterAnswer(url, False, rejection.plugin, rejection.reason, steps)


def render(answer: FilterAnswer, asked: Asked) -> View:
    if answer.accepted:
        return [Cells((f"+{answer.url}",))]
    return [Cells((f"-{answer.url}", f"{answer.filter}: {answer.reason}"))]


OPERATION = Operation(
    name="filterchecker",
    method="",
    run=run,
    render=render,
    code=lambda answer, asked: 0 if answer.accepted else REJECTED,
    place=Place.NOWHERE,
    streams=True,
    help="""
    Tell whether the URL filters accept each URL: `+URL`, or `-URL`, the filter that
    rejects it and why.

    URLs are asked about as they are given: normalise them first, as the crawl does.
    Exit code 1: one of them was rejected.

    With --listen each client sends a URL a line and is answered as on stdin; Ctrl-C ends it
    with exit code 0.
    """,
    examples=(
        "crawl filterchecker https://example.org/ https://example.org/logo.gif",
        "crawl filterchecker --filter-name regex --stdin < urls.txt | grep ^-",
        "crawl normalizerchecker --stdin < urls.txt | crawl filterchecker --stdin",
        "crawl filterchecker --listen 9000 & echo https://example.org/ | nc 127.0.0.1 9000",
        "crawl filterchecker https://example.org/a -D urlfilter.order=regex,domain",
    ),
)
