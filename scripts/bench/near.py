"""Near duplicates on real documentation: precision and recall of `dedup --near jaccard`.

    apt-get download PACKAGE=VERSION …         # those that near_pairs.tsv names, into a folder
    ./scripts/bench/run near --debs FOLDER

Two things are measured, each by dedup itself over a crawl of all pages (every package a host):

- the pairs of near_pairs.tsv, labelled by «would a reader who has found A miss B if it were
  removed?» Those of one half (`chosen`) served to choose measure and default, and those of the
  other (`second`) were looked at meanwhile. The `fresh` ones are of packages that nobody had looked
  at: theirs are the honest figures. README.md tells how they were drawn and labelled.
- copies of pages on mirrors of their hosts with another template, of known truth: words edited, a
  note or a paragraph put in, the end cut off.

Exit code 1 where the precision at the default is below 0.99 on the pairs of any set or on the
copies.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import html
import math
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.maincontent.extract import extract
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.model.table import Table
from crawl.model.tables import CRAWLDB, PARSE_DATA, PARSE_TEXT
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.dedup.rules import Nearness
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.layout import buckets_of
from crawl.storage.parquet import open_writer
from crawl.storage.segments import GENERATE, PartFile, PartManifest
from crawl.tables.bucket_files import crawldb_target, write_bucket
from crawl.tables.runner import InProcess
from crawl.urls.hosts import hosts_of

PAIRS = Path(__file__).with_name("near_pairs.tsv")
HALVES = ("chosen", "second", "fresh")
"""Sets of pairs, each reported alone."""
GOAL = 0.99
"""Precision at the default."""
DEFAULT = Nearness.parse("jaccard").threshold
THRESHOLDS = (0.5, 0.7, 0.8, 0.85, DEFAULT, 0.95, 0.98)
BUCKETS = 8
SEGMENT = "20260101000000"


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a package, or a copy of one."""

    url: str
    title: str
    text: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Pair:
    """A line of the labelled pairs."""

    one: str
    other: str
    is_same: bool
    half: str


def host_of(package: str) -> str:
    """A host for a version of a package."""
    return re.sub(r"[^a-z0-9]+", "-", package.lower()).strip("-") + ".test"


def url_of(package: str, path: str) -> str:
    return f"http://{host_of(package)}/{path}"


def read_pairs() -> list[Pair]:
    with PAIRS.open(encoding="utf-8", newline="") as lines:
        return [
            Pair(
                url_of(row["package_a"], row["path_a"]),
                url_of(row["package_b"], row["path_b"]),
                row["label"] == "same",
                row["half"],
            )
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def packages() -> list[str]:
    with PAIRS.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return sorted({row[name] for row in rows for name in ("package_a", "package_b")})


def unpack(debs: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """The packages, each in a folder of its own."""
    for package in packages():
        name, version = package.split("=")
        files = sorted(debs.glob(f"{name}_{version.replace(':', '%3a')}_*.deb"))
        if not files:
            sys.exit(f"near: {debs} has no {package}: apt-get download {package}")
        target = folder / host_of(package)
        subprocess.run(["dpkg-deb", "-x", str(files[0]), str(target)], check=True)
        yield package, target


def read_page(package: str, folder: Path, file: Path) -> Page:
    raw = file.read_bytes()
    named = re.search(rb"charset=[\"']?([\w-]+)", raw[:2000])
    try:
        markup = raw.decode(named[1].decode() if named else "utf-8")
    except (LookupError, UnicodeDecodeError):
        markup = raw.decode("latin-1")
    title = re.search(r"<title[^>]*>(.*?)</title>", markup, re.DOTALL | re.IGNORECASE)
    return Page(
        url_of(package, str(file.relative_to(folder))),
        " ".join(html.unescape(title[1]).split()) if title else "",
        extract(markup.encode("utf-8", "replace"), markdown=False).text,
        hashlib.md5(raw).digest(),
    )


def read_pages(debs: Path) -> list[Page]:
    """All HTML pages of all packages."""
    folder = Path(tempfile.mkdtemp(prefix="bench-near-"))
    try:
        tasks = [
            (package, target, file)
            for package, target in unpack(debs, folder)
            for file in sorted(target.rglob("*.htm*"))
            if file.suffix in (".html", ".htm") and file.is_file() and not file.is_symlink()
        ]
        with ProcessPoolExecutor(2) as pool:
            return list(pool.map(read_page, *zip(*tasks, strict=True), chunksize=50))
    finally:
        shutil.rmtree(folder)


def make_crawl(folder: Path, pages: Sequence[Page]) -> CrawlDir:
    """A crawl that has fetched and parsed the pages."""
    directory = CrawlDir(str(folder))
    time = CRAWLDB.schema.field("fetch_time").type
    urls = pa.array([page.url for page in pages])
    columns: dict[str, Any] = {
        "url": urls,
        "host": hosts_of(urls),
        "status": pa.array([int(Status.DB_FETCHED)] * len(pages), pa.int8()),
        "fetch_time": pa.array([0] * len(pages)).cast(time),
        "modified_time": pa.nulls(len(pages), time),
        "signature": pa.array([page.digest for page in pages], pa.binary()),
        "score": pa.array([1.0] * len(pages), pa.float32()),
        "metadata": pa.array([[]] * len(pages), CRAWLDB.schema.field("metadata").type),
    }
    for field in CRAWLDB.schema:
        if field.name not in columns:
            columns[field.name] = pa.array([0] * len(pages)).cast(field.type)
    table = pa.table([columns[name] for name in CRAWLDB.names], schema=CRAWLDB.schema)
    table = table.sort_by("url")
    bucket = buckets_of(table["host"], BUCKETS)
    with directory.writing_crawldb("bench", Config(), SystemClock()) as transaction:
        target = crawldb_target(transaction.folder, transaction.place, Config())
        files = [
            file
            for number in range(BUCKETS)
            for file in write_bucket(target, number, [table.filter(pa.array(bucket == number))])
        ]
        transaction.publish(files, Report("bench", 0, ""), buckets=BUCKETS, keep=3)
    add_part(directory, PARSE_TEXT, [{"url": p.url, "main_text": p.text} for p in pages])
    add_part(directory, PARSE_DATA, [{"url": p.url, "title": p.title} for p in pages])
    return directory


def add_part(directory: CrawlDir, table: Table, rows: list[dict[str, Any]]) -> None:
    """A part of a segment; columns that are not named are empty."""
    empty: dict[Any, Any] = {pa.string(): "", pa.binary(): None}
    given = [
        {
            each.name: row.get(each.name, empty.get(each.type, 0 if "time" in each.name else []))
            for each in table.columns
        }
        for row in rows
    ]
    segment = directory.segments.segment(SEGMENT)
    segment.publish(GENERATE, PartManifest((), 0))
    path = attempt_name("part-00000")
    folder = segment.part_folder(table.name)
    with open_writer(folder, path, table.schema) as writer:
        writer.write(pa.Table.from_pylist(given, table.schema))
    size = folder.size(path) or 0
    segment.publish(table.name, PartManifest((PartFile(0, path, len(rows), size),), 0))


def groups_of(directory: CrawlDir, near: str) -> dict[str, int]:
    """The number of each page's group, of pages that are in one."""
    options = DedupOptions(near=near, groups=1_000_000, urls=1_000_000)
    done = dedup.run(InProcess(threads=2), directory, Config(), options, SystemClock())
    return {
        url: number
        for number, group in enumerate(done.groups)
        for url in (group.survivor, *group.duplicates)
    }


@dataclass(frozen=True, slots=True)
class Score:
    """How many pairs were joined, rightly and not, and how many should have been."""

    right: int
    wrong: int
    wanted: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.right + self.wrong)

    @property
    def recall(self) -> float:
        return self.right / max(1, self.wanted)

    def __str__(self) -> str:
        least, most = wilson(self.right, self.right + self.wrong)
        return (
            f"precision {self.precision:.3f} [{least:.3f}, {most:.3f}] recall {self.recall:.3f}"
            f" ({self.wrong} of {self.right + self.wrong} wrong)"
        )


def wilson(right: int, count: int) -> tuple[float, float]:
    """Where a share lies in 95 of 100 cases, by what a sample of it shows."""
    if not count:
        return 0.0, 1.0
    z = 1.96
    share, scale = right / count, 1 + z * z / count
    middle = (share + z * z / (2 * count)) / scale
    width = z / scale * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    return max(0.0, middle - width), min(1.0, middle + width)


def score_pairs(groups: dict[str, int], pairs: Sequence[Pair]) -> Score:
    joined = [groups.get(pair.one, -1) == groups.get(pair.other, -2) for pair in pairs]
    right = sum(is_joined and pair.is_same for is_joined, pair in zip(joined, pairs, strict=True))
    return Score(right, sum(joined) - right, sum(pair.is_same for pair in pairs))


def bench_pairs(pages: Sequence[Page], folder: Path) -> bool:
    """Whether the precision at the default is as it should be."""
    pairs = read_pairs()
    known = {page.url for page in pages}
    missing = [pair for pair in pairs if not {pair.one, pair.other} <= known]
    if missing:
        sys.exit(f"near: {len(missing)} labelled pairs are in no package, such as {missing[0].one}")
    directory = make_crawl(folder / "pairs", pages)
    is_met = True
    print(f"{len(pages):,} pages, {len(pairs)} labelled pairs")
    for threshold in THRESHOLDS:
        groups = groups_of(directory, f"jaccard={threshold}")
        scores = [score_pairs(groups, [p for p in pairs if p.half == half]) for half in HALVES]
        for half, score in zip(HALVES, scores, strict=True):
            print(f"  jaccard={threshold} {half}: {score}", flush=True)
        if threshold == DEFAULT:
            is_met = all(score.precision >= GOAL for score in scores)
    return is_met


_WORDS = ("the", "of", "page", "note", "that", "value", "which", "default", "option", "file", "see")
EDITS = (0.005, 0.01, 0.02, 0.05, 0.1)


def edited(chance: random.Random, text: str, share: float) -> str:
    """The text with so many of its words replaced, in its lines."""

    def word(found: re.Match[str]) -> str:
        return (
            chance.choice(_WORDS) + str(chance.randrange(99))
            if chance.random() < share
            else found[0]
        )

    return re.sub(r"\S+", word, text)


def copies_of(chance: random.Random, page: Page) -> dict[str, str]:
    """The text of a page as mirrors might have it, by what was done to it."""
    said = " ".join(chance.choices(_WORDS, k=60))
    copies = {f"{share:.1%} of words": edited(chance, page.text, share) for share in EDITS}
    copies["template only"] = page.text
    copies["a note of 9 words"] = f"{page.text}\n{' '.join(said.split()[:9])}"
    copies["a paragraph of 60 words"] = f"{page.text}\n\n{said}"
    copies["the last tenth cut off"] = page.text[: len(page.text) * 9 // 10]
    return copies


def bench_copies(pages: Sequence[Page], count: int, folder: Path) -> bool:
    """Whether nothing but copies was joined with the pages that were copied."""
    chance = random.Random(25)
    latest = [page for page in pages if len(page.text.split()) >= 60 and page.title]
    originals = chance.sample(latest, min(count, len(latest)))
    copies: list[Page] = []
    kinds: dict[str, tuple[str, str]] = {}
    for number, page in enumerate(originals):
        for kind, text in copies_of(chance, page).items():
            name = re.sub(r"\W+", "-", kind)
            url = f"http://{name}.{page.url.split('/')[2]}/{number}"
            digest = hashlib.md5(url.encode()).digest()
            copies.append(
                replace(
                    page, url=url, title=f"{page.title} | {name} mirror", text=text, digest=digest
                )
            )
            kinds[url] = (kind, page.url)
    groups = groups_of(make_crawl(folder / "copies", [*pages, *copies]), "jaccard")
    found: dict[str, list[bool]] = {}
    for url, (kind, original) in kinds.items():
        is_found = groups.get(url, -1) == groups.get(original, -2)
        found.setdefault(kind, []).append(is_found)
    for kind, each in found.items():
        print(f"  {kind}: found {sum(each) / len(each):.3f} of {len(each)}")
    members: dict[int, set[str]] = {}
    for url, number in groups.items():
        members.setdefault(number, set()).add(kinds.get(url, ("", url))[1])
    copied = {number: members[number] for url, number in groups.items() if url in kinds}
    wrong = sum(
        len(subjects & {page.url for page in originals}) > 1 for subjects in copied.values()
    )
    precision = 1 - wrong / max(1, len(copied))
    print(f"  groups with copies: {len(copied)}, with copies of two pages: {wrong}")
    return precision >= GOAL


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--debs", type=Path, required=True, help="where the packages are")
    parser.add_argument("--copies", type=int, default=300, help="pages of which copies are made")
    options = parser.parse_args()
    pages = read_pages(options.debs)
    folder = Path(tempfile.mkdtemp(prefix="bench-near-"))
    try:
        met = [bench_pairs(pages, folder), bench_copies(pages, options.copies, folder)]
    finally:
        shutil.rmtree(folder)
    print(f"  {'met' if all(met) else 'MISSED'}: precision at the default; goal {GOAL}")
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
