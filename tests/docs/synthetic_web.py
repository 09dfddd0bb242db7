"""The synthetic web that stands for example.org in the pages, as `crawl testweb` serves it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT

_SITE = """\
http.agent.name = "mybot"
fetcher.server.delay = 0.05
http.filter.ipaddress.allow.private = true
http.resolver.hosts.file = "hosts.txt"
http.robots.503.defer.visits.delay = 100
http.robots.503.defer.visits.retries = 1
"""


@dataclass(frozen=True, slots=True)
class SyntheticWeb:
    """What a crawl of it needs."""

    conf: Path
    """A configuration folder that leads to it, and nowhere else."""
    seeds: list[str]


@contextmanager
def serving(conf: Path) -> Iterator[SyntheticWeb]:
    """A web of two small sites, in a process of its own."""
    conf.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "crawl", "testweb", "--sites", "2", "--pages", "8", "--plain"]
    with subprocess.Popen(
        [*command, "--hosts", str(conf / "hosts.txt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            assert process.stdout is not None
            seeds = [process.stdout.readline().strip() for _ in range(2)]
            (conf / "crawl-site.toml").write_text(_SITE)
            with (conf / "hosts.txt").open("a") as hosts:
                hosts.write("127.0.0.1 nobody.test\n")
            yield SyntheticWeb(conf, seeds)
        finally:
            process.terminate()


def stand_ins(web: SyntheticWeb) -> dict[str, str]:
    """The URLs of the pages, and what is asked in their place: a site, and a host that answers
    nothing."""
    return {"https://example.org/": web.seeds[0], "https://example.com/": "http://nobody.test:1/"}
