"""crawl normalizerchecker."""

from __future__ import annotations

from dataclasses import asdict

import click

from crawl.cli.common.checker_options import checker_options, plugin_option
from crawl.cli.common.line_server import Listen, incoming_urls
from crawl.cli.common.output import remark
from crawl.cli.common.url_lines import print_json_line, print_line
from crawl.config import Config
from crawl.interfaces.chain_steps import NormalizerStep, normal_form, normalizer_steps
from crawl.interfaces.chains import URLNORMALIZER_LOOP_COUNT, NormalizerChain
from crawl.interfaces.registry import resolve
from crawl.interfaces.urlnormalizer import Scope

NOT_A_URL = 1


@click.command("normalizerchecker")
@plugin_option("--normalizer", "normalizers", "normalizer", "urlnormalizer.order")
@click.option(
    "--scope",
    type=click.Choice([scope.value for scope in Scope]),
    default=Scope.DEFAULT.value,
    show_default=True,
    help="As at this place of the crawl.",
)
@click.option("--steps", "with_steps", is_flag=True, help="Show what each normalizer does.")
@checker_options
def command(
    urls: tuple[str, ...],
    normalizers: tuple[str, ...],
    scope: str,
    with_steps: bool,
    from_stdin: bool,
    listen: Listen | None,
    as_json: bool,
    config: Config,
) -> int:
    """Print each URL in normal form; an empty line for a text that is no URL.

    Exit code 1: one of them was no URL.

    With --listen each client sends a URL a line and is answered as on stdin; Ctrl-C ends it
    with exit code 0.

    \b
    Examples:
      crawl normalizerchecker "HTTP://Example.org:80/a/../b?x=1#top"
      crawl normalizerchecker --steps "http://example.org/?PHPSESSID=0123456789abcdef"
      crawl normalizerchecker --scope inject --normalizer basic --stdin < urls.txt
      crawl normalizerchecker --listen 9000 --keep-client-cnx-open
    """
    place = Scope(scope)
    if normalizers:
        chain = NormalizerChain(resolve("urlnormalizer", normalizers), config, place)
    else:
        chain = NormalizerChain.from_config(config, place)
    chain.build()
    code = 0
    with incoming_urls(urls, from_stdin=from_stdin, listen=listen) as asked:
        for url in asked:
            steps = normalizer_steps(chain, url, config[URLNORMALIZER_LOOP_COUNT])
            normal = normal_form(url, steps)
            if normal is None:
                code = NOT_A_URL
            for step in steps:
                if step.fault:
                    remark(
                        f"normalizerchecker: {step.plugin} failed, nothing changed: {step.fault}"
                    )
            if as_json:
                print_json_line(
                    {"url": url, "normal": normal, "steps": [asdict(step) for step in steps]}
                )
                continue
            if with_steps:
                _show_steps(url, steps)
            print_line(normal or "")
    return code


def _show_steps(url: str, steps: tuple[NormalizerStep, ...]) -> None:
    print_line(f"# {url}")
    for step in steps:
        made = "no URL" if step.url is None else step.url
        outcome = made if step.changed else "unchanged"
        print_line(f"#   {step.round} {step.plugin:<12} {outcome}")
