"""normalizerchecker as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from crawl.interfaces.chain_steps import NormalizerStep, normal_form, normalizer_steps
from crawl.interfaces.urlnormalizer import Scope
from crawl.operations.operation import Asked, Operation, Place
from crawl.operations.options import option
from crawl.operations.view import Cells, Part, View
from crawl.operations.work import Work

NOT_A_URL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NormalizercheckerOptions:
    """The options of normalizerchecker."""

    urls: Annotated[tuple[str, ...], option("URLs.", metavar="[URL]...", argument=True)] = ()
    normalizers: Annotated[
        tuple[str, ...],
        option(
            "Ask this normalizer instead of those in urlnormalizer.order (repeatable).",
            "--normalizer",
            metavar="PLUGIN",
        ),
    ] = ()
    scope: Annotated[Scope, option("As at this place of the crawl.")] = Scope.DEFAULT
    steps: Annotated[bool, option("Show what each normalizer does.")] = False


@dataclass(frozen=True, slots=True)
class NormalizerAnswer:
    """What the normalizers make of a URL."""

    url: str
    normal: str | None
    """In normal form; None for a text that is no URL."""
    steps: tuple[NormalizerStep, ...]


def run(work: Work, options: NormalizercheckerOptions) -> Iterator[NormalizerAnswer]:
    from crawl.interfaces.chains import URLNORMALIZER_LOOP_COUNT, NormalizerChain
    from crawl.interfaces.registry import resolve

    if options.normalizers:
        plugins = resolve("urlnormalizer", options.normalizers)
        chain = NormalizerChain(plugins, work.config, options.scope)
    else:
        chain = NormalizerChain.from_config(work.config, options.scope)
    chain.build()
    for url in work.incoming(options.urls):
        steps = normalizer_steps(chain, url, work.config[URLNORMALIZER_LOOP_COUNT])
        for step in steps:
            if step.fault:
                work.remark(f"{step.plugin} failed, nothing changed: {step.fault}")
        yield NormalizerAnswer(url, normal_form(url, steps), steps)


def render(answer: NormalizerAnswer, asked: Asked) -> View:
    normal = Cells((answer.normal or "",))
    return [*_step_lines(answer), normal] if asked.options.steps else [normal]


def _step_lines(answer: NormalizerAnswer) -> Iterator[Part]:
    yield Cells((f"# {answer.url}",))
    for step in answer.steps:
        url = "no URL" if step.url is None else step.url
        outcome = url if step.changed else "unchanged"
        yield Cells((f"#   {step.round} {step.plugin:<12} {outcome}",))


OPERATION = Operation(
    name="normalizerchecker",
    method="",
    run=run,
    render=render,
    code=lambda answer, asked: NOT_A_URL if answer.normal is None else 0,
    place=Place.NOWHERE,
    streams=True,
    help="""
    Print each URL in normal form; an empty line for a text that is no URL.

    Exit code 1: one of them was no URL.

    With --listen each client sends a URL a line and is answered as on stdin; Ctrl-C ends it
    with exit code 0.
    """,
    examples=(
        'crawl normalizerchecker "HTTP://Example.org:80/a/../b?x=1#top"',
        'crawl normalizerchecker --steps "http://example.org/?PHPSESSID=0123456789abcdef"',
        "crawl normalizerchecker --scope inject --normalizer basic --stdin < urls.txt",
        "crawl normalizerchecker --listen 9000 --keep-client-cnx-open",
    ),
)
