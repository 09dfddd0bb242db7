"""The embedded index beside tantivy used alone, SQLite FTS5 and DuckDB FTS: time and size to
index pages of 2 kB, and how long queries take.

    .venv/bin/python scripts/bench/index.py [--pages N] [--queries N] [--folder DIR] [--json]

tantivy alone has a schema as its tutorials have it: URL, title and text, the English stemmer,
all stored, a document by keywords, one thread. Words are drawn by Zipf's law. Queries have two
words, one of them rare; all answer with the ten best titles, ours with snippets, ranks and
collapsed duplicates too. Each engine runs in a process of its own; what it takes to make up the
pages is measured there first, and left out. DuckDB and its extension are installed once into
.venv-duckdb, in front of the packages of .venv.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import tantivy

from crawl.search.index import EmbeddedIndex
from crawl.search.writer import EmbeddedIndexWriter

VOCABULARY = 200_000
WORDS = 290
NOW_MS = 1_800_000_000_000
DUCKDB = "1.5.5"
"""The newest whose extension is a package: it must be of the same version."""
DUCKDB_PLACE = Path(__file__).resolve().parents[2] / ".venv-duckdb" / DUCKDB


def word(number: int) -> str:
    """A pronounceable word of its own for each number."""
    syllables = [first + last for first in "bdfgklm" for last in "aeio"]
    text = ""
    number += len(syllables)
    while number:
        number, place = divmod(number, len(syllables))
        text += syllables[place]
    return text


def pages(count: int) -> Iterator[tuple[str, str, str]]:
    """URL, title and text of each page, the same in every run."""
    chance = np.random.default_rng(5)
    words = [word(number) for number in range(VOCABULARY)]
    shares = 1.0 / np.arange(1, VOCABULARY + 1)
    bounds = np.cumsum(shares / shares.sum())
    for start in range(0, count, 1_000):
        size = min(1_000, count - start)
        drawn = np.searchsorted(bounds, chance.random((size, WORDS)))
        drawn = np.minimum(drawn, VOCABULARY - 1)
        for place, row in enumerate(drawn.tolist()):
            number = start + place
            text = " ".join([words[each] for each in row])
            title = " ".join([words[each] for each in row[::60]])
            yield f"https://site{number % 5000}.example/page/{number}", title, text


def queries(count: int) -> list[list[str]]:
    chance = np.random.default_rng(9)
    rare = chance.integers(500, 20_000, count)
    usual = chance.integers(20, 500, count)
    return [[word(int(a)), word(int(b))] for a, b in zip(rare, usual, strict=True)]


def ours(folder: Path, count: int) -> Callable[[list[str]], int]:
    with EmbeddedIndexWriter(str(folder)) as writer:
        for url, title, text in pages(count):
            writer.add({"url": url, "title": title, "content": text, "lang": "en"}, replaces=False)
    index = EmbeddedIndex([str(folder)])
    return lambda words: len(index.search(" ".join(words), NOW_MS).hits)


def tantivy_alone(folder: Path, count: int) -> Callable[[list[str]], int]:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("url", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("title", stored=True, tokenizer_name="en_stem")
    builder.add_text_field("body", stored=True, tokenizer_name="en_stem")
    folder.mkdir()
    index = tantivy.Index(builder.build(), str(folder))
    writer = index.writer(64 << 20, 1)
    for url, title, text in pages(count):
        writer.add_document(tantivy.Document(url=url, title=title, body=text))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def ask(words: list[str]) -> int:
        query = index.parse_query(" ".join(words), ["title", "body"], conjunction_by_default=True)
        hits = searcher.search(query, 10).hits
        return len([searcher.doc(address)["title"] for _, address in hits])

    return ask


def sqlite_fts5(folder: Path, count: int) -> Callable[[list[str]], int]:
    folder.mkdir()
    database = sqlite3.connect(folder / "pages.db")
    database.execute(
        "CREATE VIRTUAL TABLE pages USING fts5(url UNINDEXED, title, body, tokenize='porter')"
    )
    with database:
        database.executemany("INSERT INTO pages VALUES (?, ?, ?)", pages(count))
    asked = "SELECT title FROM pages WHERE pages MATCH ? ORDER BY bm25(pages) LIMIT 10"
    return lambda words: len(database.execute(asked, (" AND ".join(words),)).fetchall())


def install_duckdb() -> None:
    """Where it cannot be installed, DuckDB is told as not measured."""
    if not DUCKDB_PLACE.exists():
        print("installing DuckDB's full-text search into .venv-duckdb (once)…", file=sys.stderr)
        packages = [f"duckdb=={DUCKDB}", f"duckdb-extension-fts=={DUCKDB}"]
        begun = DUCKDB_PLACE.with_suffix(".begun")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if not subprocess.run([*pip, "--no-deps", "--target", str(begun), *packages]).returncode:
            begun.rename(DUCKDB_PLACE)


def duckdb_fts(folder: Path, count: int) -> Callable[[list[str]], int]:
    sys.path.insert(0, str(DUCKDB_PLACE))
    import duckdb
    import pyarrow as pa

    (extension,) = DUCKDB_PLACE.rglob("fts.duckdb_extension")
    folder.mkdir()
    database = duckdb.connect(str(folder / "pages.duckdb"))
    database.execute(f"LOAD '{extension}'")
    database.execute("CREATE TABLE pages (url VARCHAR, title VARCHAR, body VARCHAR)")
    made = pages(count)
    while batch := list(itertools.islice(made, 10_000)):
        columns = [pa.array(column) for column in zip(*batch, strict=True)]
        database.register("batch", pa.table(columns, ["url", "title", "body"]))
        database.execute("INSERT INTO pages SELECT * FROM batch")
    database.execute("PRAGMA create_fts_index('pages', 'url', 'title', 'body')")
    asked = (
        "SELECT title FROM (SELECT title, fts_main_pages.match_bm25(url, ?, conjunctive := 1) s"
        " FROM pages) WHERE s IS NOT NULL ORDER BY s DESC LIMIT 10"
    )
    return lambda words: len(database.execute(asked, [" ".join(words)]).fetchall())


ENGINES = {
    "ours": ours,
    "tantivy alone": tantivy_alone,
    "SQLite FTS5": sqlite_fts5,
    "DuckDB FTS": duckdb_fts,
}


class PrivateMemory(threading.Thread):
    """The most memory of this process that is no mapped file, looked at five times a second."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_mb = 0.0

    def run(self) -> None:
        while True:
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    self.peak_mb = max(self.peak_mb, int(line.split()[1]) / 1e3)
            time.sleep(0.2)


def measure(name: str, folder: Path, count: int, asked: int, answer: Any) -> None:
    """One engine, in a process of its own."""
    memory = PrivateMemory()
    memory.start()
    begun, cpu = time.perf_counter(), time.process_time()
    for _ in pages(count):
        pass
    making, making_cpu = time.perf_counter() - begun, time.process_time() - cpu
    begun, cpu = time.perf_counter(), time.process_time()
    try:
        ask = ENGINES[name](folder, count)
    except Exception as error:  # DuckDB could not be installed
        answer.put({"engine": name, "fault": " ".join(str(error).split())[:100]})
        return
    found = {
        "engine": name,
        "seconds": time.perf_counter() - begun - making,
        "cpu_seconds": time.process_time() - cpu - making_cpu,
        "megabytes": sum(file.stat().st_size for file in folder.rglob("*")) / 1e6,
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "private_megabytes": memory.peak_mb,
    }
    took, hits = [], 0
    for words in queries(asked):
        start = time.perf_counter()
        hits += ask(words)
        took.append(1000 * (time.perf_counter() - start))
    p50, p99 = np.percentile(took, [50, 99]).tolist()
    answer.put({**found, "p50_ms": p50, "p99_ms": p99, "hits": hits})


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pages", type=int, default=1_000_000)
    arguments.add_argument("--queries", type=int, default=1_000)
    arguments.add_argument("--folder", help="where the indexes are made (default: a new one)")
    arguments.add_argument("--engines", default=",".join(ENGINES), help="which ones, by commas")
    arguments.add_argument("--json", action="store_true")
    options = arguments.parse_args()
    if "DuckDB FTS" in options.engines.split(","):
        install_duckdb()
    place = Path(tempfile.mkdtemp(dir=options.folder))
    spawn = multiprocessing.get_context("spawn")
    results = []
    try:
        for number, name in enumerate(options.engines.split(",")):
            answer = spawn.Queue()
            task = (name, place / str(number), options.pages, options.queries, answer)
            child = spawn.Process(target=measure, args=task)
            child.start()
            results.append(answer.get())
            child.join()
            with suppress(OSError):
                shutil.rmtree(place / str(number))
            if not options.json:
                _show(results[-1])
    finally:
        shutil.rmtree(place, ignore_errors=True)
    measured = {each["engine"]: each for each in results if "fault" not in each}
    if options.json:
        print(json.dumps(results, indent=1))
    elif {"ours", "tantivy alone"} <= measured.keys():
        mine, alone = measured["ours"], measured["tantivy alone"]
        print(
            f"ours to tantivy alone: time {mine['cpu_seconds'] / alone['cpu_seconds']:.2f},"
            f" size {mine['megabytes'] / alone['megabytes']:.2f}"
        )


def _show(found: dict[str, Any]) -> None:
    if "fault" in found:
        print(f"{found['engine']:14} not measured: {found['fault']}")
        return
    print(
        f"{found['engine']:14} {found['cpu_seconds']:8.1f} s CPU {found['seconds']:8.1f} s"
        f" {found['megabytes']:8.1f} MB, peak {found['peak_megabytes']:7.0f} MB"
        f" ({found['private_megabytes']:.0f} private);"
        f" p50 {found['p50_ms']:8.2f} ms p99 {found['p99_ms']:8.2f} ms ({found['hits']:,} hits)"
    )


if __name__ == "__main__":
    main()
