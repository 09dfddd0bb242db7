"""crawl filterchecker."""

from __future__ import annotations

from dataclasses import asdict

import click

from crawl.cli.common.checker_options import checker_options, plugin_option
from crawl.cli.common.line_server import Listen, incoming_urls
from crawl.cli.common.output import remark
from crawl.cli.common.url_lines import print_json_line, print_line
from crawl.config import Config
from crawl.interfaces.chain_steps import filter_steps
from crawl.interfaces.chains import FilterChain
from crawl.interfaces.registry import resolve

REJECTED = 1


@click.command("filterchecker")
@plugin_option("--filter-name", "filters", "filter", "urlfilter.order")
@checker_options
def command(
    urls: tuple[str, ...],
    filters: tuple[str, ...],
    from_stdin: bool,
    listen: Listen | None,
    as_json: bool,
    config: Config,
) -> int:
    """Tell whether the URL filters accept each URL: `+URL`, or `-URL`, the filter that
    rejects it and why.

    URLs are asked about as they are given: normalise them first, as the crawl does.
    Exit code 1: one of them was rejected.

    With --listen each client sends a URL a line and is answered as on stdin; Ctrl-C ends it
    with exit code 0.

    \b
    Examples:
      crawl filterchecker https://example.org/ https://example.org/logo.gif
      crawl filterchecker --filter-name regex --stdin < urls.txt | grep ^-
      crawl normalizerchecker --stdin < urls.txt | crawl filterchecker --stdin
      crawl filterchecker --listen 9000 & echo https://example.org/ | nc 127.0.0.1 9000
      crawl filterchecker https://example.org/a -D urlfilter.order=regex,domain
    """
    if filters:
        chain = FilterChain(resolve("urlfilter", filters), config)
    else:
        chain = FilterChain.from_config(config)
    chain.build()
    code = 0
    with incoming_urls(urls, from_stdin=from_stdin, listen=listen) as asked:
        for url in asked:
            steps = filter_steps(chain, url)
            rejection = next((step for step in steps if step.reason is not None), None)
            if rejection is not None:
                code = REJECTED
            for step in steps:
                if step.fault:
                    remark(f"filterchecker: {step.plugin} failed and was skipped: {step.fault}")
            if as_json:
                print_json_line(
                    {
                        "url": url,
                        "accepted": rejection is None,
                        "filter": rejection.plugin if rejection else None,
                        "reason": rejection.reason if rejection else None,
                        "steps": [asdict(step) for step in steps],
                    }
                )
            elif rejection is None:
                print_line(f"+{url}")
            else:
                print_line(f"-{url}", f"{rejection.plugin}: {rejection.reason}")
    return code
