"""invertlinks of millions of links, beside DuckDB that makes the same files of the same pages.

./scripts/bench/run invertlinks                        # 20 million links
./scripts/bench/run invertlinks --links 2000000 --rounds 3
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from process_tree import Process

from crawl.clock import SystemClock
from crawl.config import Config, load
from crawl.declared import declared_properties
from crawl.interfaces.scoring import SCORE_KEY
from crawl.model.derived_tables import LINKDB
from crawl.model.table import OUTLINKS
from crawl.model.tables import PARSE_DATA
from crawl.phases.invertlinks import run as invertlinks
from crawl.phases.invertlinks.linkdb import linkdb_of
from crawl.phases.invertlinks.options import InvertLinksOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.layout import bucket_of
from crawl.storage.parquet import open_writer
from crawl.storage.segments import GENERATE, PARSE, PARSE_TEXT, PartFile, PartManifest
from crawl.storage.segments import PARSE_DATA as PART

SEGMENT = "20261115093000"
LINKS_PER_PAGE = 20
PAGES_PER_FILE = 5_000
BUCKETS = 16
CORES = 2
GOAL = 1.5


def url_column(numbers: np.ndarray[Any, Any], hosts: int) -> pa.Array[Any]:
    """The URLs of pages by their numbers: hosts by a power law."""
    host = (hosts * np.sqrt((numbers * 2_654_435_761 % 1_000_003) / 1_000_003)).astype(np.int64)
    texts = [pa.array(each).cast(pa.string()) for each in (host, numbers % 97, numbers)]
    return pc.binary_join_element_wise(
        pc.binary_join_element_wise("https://www.site", texts[0], ".example.org", ""),
        pc.binary_join_element_wise("section-", texts[1], ""),
        pc.binary_join_element_wise("article-", texts[2], ".html", ""),
        "/",
    )


def make_pages(crawl: CrawlDir, links: int, seed: int) -> None:
    """A parsed segment: pages with twenty links each, to targets by a power law, a third of
    them within the page's host."""
    rng = np.random.default_rng(seed)
    pages, hosts = links // LINKS_PER_PAGE, max(10, links // 400)
    targets = max(1, links // 10)
    segment = crawl.segments.segment(SEGMENT)
    segment.publish(GENERATE, PartManifest((), 0))
    folder = segment.part_folder(PART)
    words = pa.array([f"anchor text number {number}" for number in range(5_000)] + [""] * 500)
    files = []
    for part, start in enumerate(range(0, pages, PAGES_PER_FILE)):
        numbers = np.arange(start, min(start + PAGES_PER_FILE, pages))
        count = len(numbers) * LINKS_PER_PAGE
        chosen = (targets * rng.random(count) ** 3).astype(np.int64)
        fields = {
            "url": url_column(chosen, hosts),
            "anchor": words.take(pa.array(rng.integers(0, len(words), count))),
            "rel": pa.repeat("", count),
            "tag": pa.repeat("a", count),
        }
        structs = pa.StructArray.from_arrays(
            list(fields.values()), fields=list(OUTLINKS.value_type)
        )
        offsets = pa.array(np.arange(0, count + 1, LINKS_PER_PAGE, dtype=np.int32))
        scores = pa.array(np.round(rng.exponential(1.0, len(numbers)), 2)).cast(pa.string())
        ones = pa.array(np.arange(len(numbers) + 1, dtype=np.int32))
        columns: dict[str, Any] = {
            "url": url_column(numbers, hosts),
            "status": pa.repeat("success", len(numbers)),
            "mime_type": pa.repeat("text/html", len(numbers)),
            "signature": pa.nulls(len(numbers), pa.binary()),
            "fetch_time": pa.array(np.zeros(len(numbers), np.int64)).cast(
                PARSE_DATA.schema.field("fetch_time").type
            ),
            "outlinks": pa.ListArray.from_arrays(offsets, structs).cast(OUTLINKS),
            "metadata": pa.MapArray.from_arrays(ones, pa.repeat(SCORE_KEY, len(numbers)), scores),
        }
        empty = pa.repeat("", len(numbers))
        table = pa.Table.from_arrays(
            [columns.get(name, empty) for name in PARSE_DATA.names], schema=PARSE_DATA.schema
        )
        path = attempt_name(f"part-{part:05d}")
        with open_writer(folder, path, PARSE_DATA.schema, 512) as writer:
            writer.write(table)
        files.append(PartFile(part, path, writer.rows, folder.size(path) or 0))
    none = PartManifest((), 0)
    segment.publish_parsed({PARSE: none, PART: PartManifest(tuple(files), 0), PARSE_TEXT: none})


def facts_of(paths: list[Path]) -> dict[str, Any]:
    """What both sides must agree on; raises where files are not sorted."""
    rows, lengths, scores = 0, 0, 0.0
    for path in paths:
        table = pq.read_table(path, columns=["url", "from_url", "anchor", "score"])
        same = pc.equal(table["url"][1:], table["url"][:-1])
        rising = pc.or_(
            pc.greater(table["url"][1:], table["url"][:-1]),
            pc.and_(same, pc.greater(table["from_url"][1:], table["from_url"][:-1])),
        )
        assert pc.all(rising).as_py(), f"{path} is not sorted"
        rows += table.num_rows
        lengths += pc.sum(pc.binary_length(table["anchor"])).as_py() or 0
        scores += pc.sum(table["score"].cast(pa.float64())).as_py() or 0.0
    return {"links": rows, "anchor_bytes": lengths, "scores": round(scores)}


class Ours:
    """invertlinks on Spark with two cores, whose session is open before the clock starts."""

    def __init__(self, folder: Path, settings: tuple[str, ...]) -> None:
        from crawl.spark.session import open_session
        from crawl.spark.tasks import SparkRunner

        # the other side keeps every link too
        unlimited = "linkdb.max.inlinks=1000000000"
        settings = (f"crawldb.buckets={BUCKETS}", unlimited, *settings)
        self._config: Config = load(settings, extra=declared_properties, working_folder=folder)
        self._crawl = CrawlDir(str(folder / "crawl"))
        self._spark = open_session("bench", self._config, master=f"local[{CORES}]")
        self._runner = SparkRunner(self._spark, quiet=True)

    def prepare(self, step: str) -> None:
        shutil.rmtree(Path(self._crawl.folder.address) / "linkdb", ignore_errors=True)

    def run(self, step: str) -> dict[str, Any]:
        options = InvertLinksOptions(normalize=False, filter=False)
        done = invertlinks.run(self._runner, self._crawl, self._config, options, SystemClock())
        return dict(done.report.counters)

    def facts(self, step: str) -> dict[str, Any]:
        dataset = linkdb_of(self._crawl)
        files = dataset.require_current().files
        return facts_of([Path(dataset.folder.path(file.path)) for file in files])

    def close(self) -> None:
        self._spark.stop()


class DuckDB:
    """The same pages exploded, chosen, sorted and written as a file a bucket. It is spared the
    hash of hosts, which it is told, and publication."""

    def __init__(self, folder: Path, memory: str) -> None:
        self._folder = folder
        self._output = folder / "duckdb"
        self._database = duckdb.connect()
        self._database.execute(f"SET threads={CORES}; SET memory_limit='{memory}'")
        self._database.execute(f"SET temp_directory='{folder / 'duckdb-temp'}'")
        self._database.execute("SET preserve_insertion_order=false")
        pages = folder / "crawl/segments" / SEGMENT / "parse_data/*.parquet"
        self._pages = str(pages)
        hosts = self._database.execute(
            f"SELECT DISTINCT split_part(link.url, '/', 3) FROM (SELECT unnest(outlinks) AS link"
            f" FROM read_parquet('{self._pages}'))"
        ).fetchall()
        buckets = pa.table(
            {
                "name": [host for (host,) in hosts],
                "bucket": [bucket_of(host, BUCKETS) for (host,) in hosts],
            }
        )
        self._database.execute("CREATE TABLE hosts AS SELECT * FROM buckets")
        assert buckets.num_rows

    def prepare(self, step: str) -> None:
        shutil.rmtree(self._output, ignore_errors=True)
        self._output.mkdir()

    def run(self, step: str) -> dict[str, Any]:
        run = self._database.execute
        run(f"""
            CREATE OR REPLACE TEMP TABLE links AS
            WITH exploded AS (
                SELECT url AS from_url, split_part(url, '/', 3) AS from_host,
                       TRY_CAST(metadata['{SCORE_KEY}'] AS FLOAT) AS score,
                       unnest(outlinks) AS link
                FROM read_parquet('{self._pages}')
            ), kept AS (
                SELECT link.url AS url, split_part(link.url, '/', 3) AS host, from_url,
                       left(link.anchor, 100) AS anchor, score
                FROM exploded WHERE split_part(link.url, '/', 3) <> from_host
            ), best AS (
                SELECT url, any_value(host) AS host, from_url,
                       max(struct_pack(score := score, length := length(anchor),
                                       anchor := anchor)) AS top
                FROM kept GROUP BY url, from_url
            )
            SELECT url, host, from_url, top.anchor AS anchor, top.score AS score,
                   '{SEGMENT}' AS segment, bucket
            FROM best JOIN hosts ON host = name
        """)
        for bucket in range(BUCKETS):
            run(f"""
                COPY (SELECT {", ".join(LINKDB.names)} FROM links WHERE bucket = {bucket}
                      ORDER BY url, from_url)
                TO '{self._output}/part-{bucket:05d}.parquet'
                (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3, ROW_GROUP_SIZE 65536)
            """)
        return {}

    def facts(self, step: str) -> dict[str, Any]:
        return facts_of(sorted(self._output.glob("*.parquet")))

    def close(self) -> None:
        self._database.close()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--links", type=int, default=20_000_000)
    options.add_argument("--rounds", type=int, default=2)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--memory", default="5GB", help="DuckDB's")
    options.add_argument("--json", type=Path)
    options.add_argument("-D", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="bench-invertlinks-"))
    try:
        began = time.monotonic()
        make_pages(CrawlDir(str(folder / "crawl")), given.links, given.seed)
        print(f"{given.links:,} links made in {time.monotonic() - began:.0f} s", flush=True)
        return compare(folder, given)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compare(folder: Path, given: argparse.Namespace) -> int:
    runs: dict[str, list[Any]] = {"ours": [], "DuckDB": []}
    facts = {}
    with (
        Process(partial(Ours, folder, tuple(given.settings))) as ours,
        Process(partial(DuckDB, folder, given.memory)) as theirs,
    ):
        for _ in range(given.rounds):
            for name, side in (("ours", ours), ("DuckDB", theirs)):
                side.prepare("invertlinks")
                measured = side.run("invertlinks")
                runs[name].append(measured)
                print(
                    f"{name:7} {measured.seconds:7.1f} s {measured.cpu_s:7.1f} CPU s"
                    f" {measured.peak_mib:6.0f} MiB",
                    flush=True,
                )
                facts[name] = side.facts("invertlinks")
    best = {name: min(each.seconds for each in found) for name, found in runs.items()}
    cpu = {name: min(each.cpu_s for each in found) for name, found in runs.items()}
    ratio = best["ours"] / best["DuckDB"]
    print(f"ratio {ratio:.2f} (CPU {cpu['ours'] / cpu['DuckDB']:.2f}); goal {GOAL}")
    print(facts)
    if given.json:
        content = {
            "links": given.links,
            "runs": {
                name: [[each.seconds, each.cpu_s, each.peak_mib] for each in found]
                for name, found in runs.items()
            },
            "facts": facts,
        }
        given.json.write_text(json.dumps(content, indent=1))
    if facts["ours"] != facts["DuckDB"]:
        print("the two sides do not agree")
        return 1
    return 0 if ratio <= GOAL else 1


if __name__ == "__main__":
    raise SystemExit(main())
