"""A small crawl with segments in every state, and ways to damage a file of it."""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Web
from crawl.tables.runner import InProcess
from tests.phases.webs import web_config

RUNNER = InProcess(2)
KINDS = ("removed", "cut", "empty", "flipped", "flipped end")
_NUMBER = re.compile(r"[0-9a-f]{8}|[0-9]+")


def config_of(web: Web) -> Config:
    """A configuration that keeps all snapshots, so that a missing file was deleted by mistake."""
    return web_config(
        web,
        fetcher__server__delay=0,
        fetcher__checkpoint__records=3,
        crawldb__buckets=2,
        crawldb__snapshots__keep=50,
    )


def commands(config: Config, seeds: str) -> dict[str, Callable[[CrawlDir], object]]:
    """The commands that write, by name."""
    clock = SystemClock()

    def generated(directory: CrawlDir) -> object:
        options = GenerateOptions(num_fetchers=2, top_n=4)
        return generate.run(RUNNER, directory, config, options, clock, resolver=lambda host: None)

    return {
        "inject": lambda crawl: inject.run(RUNNER, crawl, config, InjectOptions((seeds,)), clock),
        "generate": generated,
        "fetch": lambda crawl: fetch.run(RUNNER, crawl, config, FetchOptions(), clock),
        "parse": lambda crawl: parse.run(RUNNER, crawl, config, ParseOptions(), clock),
        "updatedb": lambda crawl: updatedb.run(RUNNER, crawl, config, UpdateDbOptions(), clock),
    }


def make_crawl(address: str, config: Config, seeds: str) -> CrawlDir:
    """A segment that the CrawlDb contains, one that it does not yet, one whose fetch died
    before it was published, and one that is to be fetched."""
    directory = CrawlDir(address)
    do = commands(config, seeds)
    for name in ("inject", "generate", "fetch", "parse", "updatedb"):
        do[name](directory)
    for name in ("generate", "fetch", "parse", "generate", "fetch"):
        do[name](directory)
    segment = directory.segments.generated()[-1]
    for part in ("content", "crawl_fetch"):
        for file in ("manifest.json", "manifest.json.copy"):
            segment.folder.delete(f"{part}/{file}")
    segment.folder.delete("crawl_fetch/chunks/part-00000/DONE.json")
    do["generate"](directory)
    return directory


@dataclass(frozen=True, slots=True)
class Damage:
    """One kind of damage to one file."""

    path: str
    kind: str

    def do(self, root: Path) -> None:
        file = root / self.path
        whole = file.read_bytes()
        chance = random.Random(f"{self.path} {self.kind}".translate({ord("/"): " "}))
        if self.kind == "removed":
            file.unlink()
        elif self.kind == "cut":
            file.write_bytes(whole[: len(whole) // 2])
        elif self.kind == "empty":
            file.write_bytes(b"")
        else:
            flipped = bytearray(whole)
            place = chance.randrange(len(whole)) if self.kind == "flipped" else len(whole) - 60
            flipped[place] ^= 1 << chance.randrange(8)
            file.write_bytes(bytes(flipped))


def damages(root: Path, *, all_files: bool) -> list[Damage]:
    """All kinds of every file; or of one of each kind and place, in turns, and all only where
    they matter most."""
    files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    if not all_files:
        segments = sorted({path.split("/")[1] for path in files if path.startswith("segments")})
        chosen: dict[str, str] = {}
        for path in files:
            place = path.split("/")[1]
            number = segments.index(place) if place in segments else place
            chosen.setdefault(f"{number} {_NUMBER.sub('#', path)}", path)
        # of the CrawlDb the newest is another matter than the older ones
        newest = [path for path in files if path.startswith(_newest(files))]
        files = sorted({*chosen.values(), *newest})
    found = []
    for number, path in enumerate(files):
        if all_files or path.startswith(("crawldb/CURRENT", _newest(files))):
            kinds: tuple[str, ...] = KINDS
        else:
            kinds = (KINDS[number % len(KINDS)],)
        found += [Damage(path, kind) for kind in kinds if (root / path).stat().st_size > 60]
    return found


def _newest(files: list[str]) -> str:
    return max(path for path in files if path.startswith("crawldb/snapshots/")).rpartition("/")[0]


def copied(root: Path, target: Path) -> CrawlDir:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(root, target)
    return CrawlDir(str(target))
