"""What URLs cost: µs of processor time a URL for parsing, hosts, domains, normalizers and
filters, one by one against whole columns, on the same URLs of which nine in ten are
already in normal form.

    .venv/bin/python scripts/bench/urls.py [--urls N] [--json]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pyarrow as pa

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.urls.domains import domain_of, domains_of
from crawl.urls.hosts import hosts_of
from crawl.urls.parse import host_of, parse

# by module:attr, so that it also runs where the package is not installed
CONFIG = Config.of(
    {
        "urlnormalizer.order": [
            "crawl.plugins.urlnormalizer.basic:BasicURLNormalizer",
            "crawl.plugins.urlnormalizer.regex:RegexURLNormalizer",
        ],
        "urlfilter.order": [
            "crawl.plugins.urlfilter.length:LengthURLFilter",
            "crawl.plugins.urlfilter.regex:RegexURLFilter",
            "crawl.plugins.urlfilter.trap:TrapURLFilter",
        ],
    }
)
ROW_SAMPLE = 100_000
"""So many rows are enough to know the cost of one."""
WORDS = ("news", "article", "product", "about", "team", "blog", "archive", "tag", "shop", "page")
TOP_LEVEL = ("com", "org", "net", "de", "co.uk", "fr", "info", "io")
ENDINGS = (".html", ".php", "/", "", ".htm", "/index.html")


def realistic_urls(count: int) -> list[str]:
    """Few large hosts and many small ones; paths of several depths; 10% not normal."""
    chance = random.Random(2)
    urls = []
    for number in range(count):
        site = min(int(chance.paretovariate(0.6)), 50_000)
        host = f"{chance.choice(('www.', '', 'blog.'))}site{site}.{TOP_LEVEL[site % 8]}"
        path = "/".join(chance.choice(WORDS) for _ in range(chance.randint(0, 4)))
        if chance.random() < 0.2:
            path = f"{path}/20{chance.randint(10, 25)}/{chance.randint(1, 12):02}"
        page = f"{path}/{chance.choice(WORDS)}-{number}{chance.choice(ENDINGS)}".lstrip("/")
        query = f"?id={number}&p={number % 9}" if chance.random() < 0.1 else ""
        url = f"{chance.choice(('http', 'https'))}://{host}/{page}{query}"
        urls.append(url if chance.random() < 0.9 else denormalized(url, chance))
    return urls


def denormalized(url: str, chance: random.Random) -> str:
    """The same page, spelt as links spell it."""
    return chance.choice(
        (
            url + "#section",
            url.replace("://", "://WWW.", 1),
            url.replace("/", "/./", 4).replace("/./", "/", 2),
            url + "?PHPSESSID=0a1b2c",
            url.replace("-", "%2D"),
            url + "/../x.html",
            url.replace("e", "é", 1),
        )
    )


def seconds(work: Callable[[], Any], repeat: int = 3) -> float:
    """The best processor time of a few tries: other programs cost us less of that."""
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def measure(count: int) -> dict[str, Any]:
    urls = realistic_urls(count)
    sample = urls[:ROW_SAMPLE]
    column = pa.array(urls)
    normalize, accept = NormalizerChain.from_config(CONFIG), FilterChain.from_config(CONFIG)
    normal = normalize.normalize_batch(column, Counters())
    normal_sample = normal.slice(0, len(sample)).to_pylist()
    already = sum(map(str.__eq__, sample, normal_sample)) / len(sample)

    def domain_by_row() -> None:
        for url in sample:
            domain_of(url)

    steps: dict[str, tuple[Callable[[], Any], Callable[[], Any] | None]] = {
        "parse": (lambda: [parse(url) for url in sample], None),
        "host": (lambda: [host_of(url) for url in sample], lambda: hosts_of(column)),
        "domain": (domain_by_row, lambda: domains_of(hosts_of(column))),
        "normalize": (
            lambda: [normalize.normalize(url) for url in sample],
            lambda: normalize.normalize_batch(column, Counters()),
        ),
        "filter": (
            lambda: [accept.rejection(url) for url in normal_sample],
            lambda: accept.filter_batch(normal, Counters()),
        ),
    }
    figures: dict[str, dict[str, float | None]] = {}
    for name, (by_row, by_column) in steps.items():
        row = seconds(by_row) / len(sample) * 1e6
        batch = None if by_column is None else seconds(by_column) / count * 1e6
        figures[name] = {"row": row, "batch": batch, "ratio": batch and row / batch}
    both = {
        form: (figures["normalize"][form] or 0) + (figures["filter"][form] or 0)
        for form in ("row", "batch")
    }
    figures["normalize+filter"] = {**both, "ratio": both["row"] / both["batch"]}
    counters = Counters()
    accept.filter_batch(normal, counters)
    return {
        "urls": count,
        "already_normal": already,
        "rejected": sum(counters.values()) / count,
        "us_per_url": figures,
    }


def show(found: dict[str, Any]) -> str:
    lines = [
        f"{found['urls']:,} URLs, {found['already_normal']:.0%} in normal form,"
        f" {found['rejected']:.0%} rejected; µs of processor time a URL",
        f"{'':18}{'row':>8}{'batch':>8}{'ratio':>8}",
    ]
    for name, figures in found["us_per_url"].items():
        cells = (
            f"{figures['row']:8.2f}",
            *(f"{figures[key]:8.2f}" if figures[key] else f"{'':8}" for key in ("batch", "ratio")),
        )
        lines.append(f"{name:18}{''.join(cells)}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000, help="how many (1000000)")
    parser.add_argument("--json", action="store_true", help="for programs")
    options = parser.parse_args()
    found = measure(max(1, options.urls))
    print(json.dumps(found) if options.json else show(found))


if __name__ == "__main__":
    main()
