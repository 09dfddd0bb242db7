"""DuckDB's side: the same work on the same files, and the same content written.

Where there are several ways to say a thing in SQL, the quickest that was found stands
here. What it is spared: normalising (all URLs are in normal form, which our side has to
find out), hashing seeds to buckets (it is told), counters by reason, and publication.
"""

from __future__ import annotations

import shutil
import statistics
import time
from pathlib import Path
from typing import Any

import crawldb_check
import duckdb
from crawldb_duckdb_update import Update
from crawldb_ours import Workload, drop_from_cache
from crawldb_shape import NOW_MS

from crawl.config.properties import (
    CRAWL_GEN_DELAY,
    CRAWLDB_ROW_GROUP_SIZE,
    DB_FETCH_INTERVAL_DEFAULT,
    DB_FETCH_INTERVAL_MAX,
    DB_SCORE_INJECTED,
    DB_STATS_SCORE_QUANTILES,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of

SORTED = "sorted by bucket"
UNSORTED = "unsorted"

# The default filters (length, regex, trap) as SQL. The trap filter's limits on folders,
# parameters and dates, as far as SQL can tell them without code of its own.
_SLASHES = "length(url) - length(replace(url, '/', ''))"
_FILTERS = rf"""
    length(url) <= 2048
    AND NOT regexp_matches(url, '[?*!@=]')
    AND NOT regexp_matches(url,
        '(?i)\.(?:gif|jpg|png|ico|css|sit|eps|wmf|zip|ppt|mpg|xls|gz|rpm|tgz|mov|exe|jpeg|bmp|js)$')
    AND NOT regexp_matches(url, '^(?:file|ftp|mailto):')
    AND {_SLASHES} <= 22
    AND ({_SLASHES} <= 4
         OR len(string_split(url, '/')) - list_unique(string_split(url, '/')) <= 2)
    AND length(url) - length(replace(url, '&', '')) < 20
    AND NOT regexp_matches(url,
        '(?s:[0-9]{{4}}[/-][0-9].*){{4}}'
        || '|(?:1[0-7][0-9][0-9]|20[5-9][0-9]|204[1-9]|2[1-9][0-9][0-9])[/-][01]?[0-9]')
"""


class DuckDB:
    def __init__(self, workload: Workload, folder: Path, memory: str) -> None:
        self._work = workload
        self._config = workload.config
        self._folder = folder
        self._output = folder / "output"
        self._memory = memory
        crawl = CrawlDir(workload.made.crawl)
        self._crawl = crawl
        self._snapshot = crawl.require_crawldb()
        self._files = [crawl.crawldb.folder.path(file.path) for file in self._snapshot.files]
        self._base = f"read_parquet({self._files})"
        self._update = Update(workload.made, self._config)
        self._copy = (
            "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3,"
            f" ROW_GROUP_SIZE {self._config[CRAWLDB_ROW_GROUP_SIZE]}"
        )

    def close(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def prepare(self, step: str) -> None:
        shutil.rmtree(self._output, ignore_errors=True)
        self._output.mkdir(parents=True)

    def run(self, step: str) -> dict[str, Any]:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "threads": self._work.cores,
            "memory_limit": self._memory,
            "temp_directory": str(self._folder / "spill"),
            "autoinstall_known_extensions": "false",
        }
        with duckdb.connect(config=settings) as connection:
            connection.execute("SET enable_progress_bar = false")
            match step:
                case "inject sorted by bucket":
                    return self._inject_sorted(connection)
                case "inject unsorted":
                    return self._inject_unsorted(connection)
                case "updatedb sorted by bucket":
                    return self._update_sorted(connection)
                case "updatedb unsorted":
                    return self._update_unsorted(connection)
                case "generate":
                    return self._generate(connection, _FILTERS)
                case "generate --no-filter":
                    return self._generate(connection, "true")
                case "readdb --stats":
                    return self._stats(connection)
                case "readdb --url":
                    return self._look_up(connection)
        raise ValueError(step)

    def facts(self, step: str) -> dict[str, Any]:
        files = sorted(str(path) for path in self._output.rglob("*.parquet"))
        if step == "inject unsorted":
            return {**crawldb_check.of_crawldb(files), "sorted": True}
        if step.startswith("inject"):
            return crawldb_check.of_crawldb(files)
        if step.startswith("updatedb"):
            told = crawldb_check.of_updated(files)
            return {**told, "sorted": True} if step == "updatedb unsorted" else told
        return crawldb_check.of_lists(files) if step.startswith("generate") else {}

    def _seeds(self, connection: duckdb.DuckDBPyConnection) -> None:
        """The seeds as records; of two lines for one URL the last counts."""
        connection.execute(
            rf"""
            CREATE TEMP TABLE seeds AS
            WITH lines AS (
                SELECT line, row_number() OVER () AS number
                FROM read_csv('{self._work.made.seeds}', header = false, delim = '\x01',
                              quote = '', escape = '', columns = {{'line': 'VARCHAR'}})
            ), parsed AS (
                SELECT split_part(line, chr(9), 1) AS url, number,
                       nullif(regexp_extract(line, 'nutch\.score=([0-9.]+)', 1), '') AS score
                FROM lines
            ), distinct_urls AS (
                SELECT url, arg_max(coalesce(score::FLOAT, {self._config[DB_SCORE_INJECTED]}),
                                    number)::FLOAT AS score
                FROM parsed WHERE {_FILTERS} GROUP BY url
            )
            SELECT url, regexp_extract(url, '^[a-z]+://([^/:?#]+)', 1) AS host,
                   1::TINYINT AS status,
                   make_timestamptz({NOW_MS}000) AS fetch_time, NULL::TIMESTAMPTZ AS modified_time,
                   {self._config[DB_FETCH_INTERVAL_DEFAULT]}::INT AS fetch_interval,
                   0::SMALLINT AS retries, score, NULL::BLOB AS signature,
                   MAP {{}}::MAP(VARCHAR, VARCHAR) AS metadata
            FROM distinct_urls
            """
        )

    def _inject_unsorted(self, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """One file, rows in any order."""
        self._seeds(connection)
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(
            f"""
            COPY (SELECT * FROM {self._base}
                  UNION ALL SELECT * FROM seeds ANTI JOIN {self._base} USING (url))
            TO '{self._output}/all.parquet' ({self._copy})
            """
        )
        return {}

    def _inject_sorted(self, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """As ours: a file a bucket, sorted by URL. Bucket by bucket, because one sort of all
        rows was a third slower and spilled."""
        self._seeds(connection)
        connection.execute(
            f"""
            CREATE TEMP TABLE placed AS SELECT seeds.*, bucket
            FROM seeds JOIN '{self._work.made.seed_buckets}' USING (host)
            """
        )
        for file, path in zip(self._snapshot.files, self._files, strict=True):
            connection.execute(
                f"""
                COPY (SELECT * FROM '{path}'
                      UNION ALL SELECT * EXCLUDE (bucket)
                      FROM (FROM placed WHERE bucket = {file.bucket}) ANTI JOIN '{path}' USING (url)
                      ORDER BY url)
                TO '{self._output}/{file.bucket:05d}.parquet' ({self._copy})
                """
            )
        return {}

    def _update_unsorted(self, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """One file, rows in any order."""
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(self._update.told(tell_buckets=False))
        query = self._update.query(self._base, "told")
        connection.execute(f"COPY ({query}) TO '{self._output}/all.parquet' ({self._copy})")
        return {}

    def _update_sorted(self, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """As ours: a file a bucket, sorted by URL."""
        connection.execute(self._update.told(tell_buckets=True))
        for file, path in zip(self._snapshot.files, self._files, strict=True):
            told = f"(SELECT * EXCLUDE (bucket) FROM told WHERE bucket = {file.bucket})"
            query = f"{self._update.query(repr(path), told)} ORDER BY url"
            place = f"{self._output}/{file.bucket:05d}.parquet"
            connection.execute(f"COPY ({query}) TO '{place}' ({self._copy})")
        return {}

    def _generate(self, connection: duckdb.DuckDBPyConnection, filters: str) -> dict[str, Any]:
        latest = NOW_MS + int(self._config[DB_FETCH_INTERVAL_MAX]) * 1000
        reserved = int(self._config[CRAWL_GEN_DELAY])
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(
            f"""
            CREATE TEMP TABLE chosen AS SELECT file, row FROM (
                SELECT file_index AS file, file_row_number AS row, score,
                       row_number() OVER (PARTITION BY host ORDER BY score DESC) AS place
                FROM read_parquet({self._files}, file_row_number = true)
                WHERE (fetch_time <= make_timestamptz({NOW_MS}000)
                       OR fetch_time > make_timestamptz({latest}000))
                  AND NOT coalesce(
                      try_cast(metadata['_ngt_'] AS BIGINT) + {reserved} > {NOW_MS}, false)
                  AND score >= 0
                  AND {filters}
            ) WHERE place <= {self._work.max_count} ORDER BY score DESC LIMIT {self._work.top_n}
            """
        )
        connection.execute(
            f"""
            COPY (SELECT base.* EXCLUDE (file_row_number)
                         REPLACE (map_concat(metadata, MAP {{'_ngt_': '{NOW_MS}'}}) AS metadata),
                         hash(host) % {self._work.parts} AS part
                  FROM read_parquet({self._files}, file_row_number = true) AS base
                  SEMI JOIN chosen ON file = file_index AND row = file_row_number
                  ORDER BY random())
            TO '{self._output}' ({self._copy}, PARTITION_BY part)
            """
        )
        return {}

    def _stats(self, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        shares = self._config[DB_STATS_SCORE_QUANTILES]
        row = connection.execute(
            f"""
            SELECT count(*), histogram(status), histogram(retries),
                   min(score), max(score), sum(score::DOUBLE),
                   epoch_ms(min(fetch_time)), epoch_ms(max(fetch_time)), avg(epoch_ms(fetch_time)),
                   min(fetch_interval), max(fetch_interval), avg(fetch_interval),
                   quantile_disc(score, {[*shares]})
            FROM {self._base} WHERE NOT isnan(score)
            """
        ).fetchone()
        assert row is not None
        return {
            "urls": row[0],
            "statuses": dict(sorted(row[1].items())),
            "score_sum": row[5],
            "quantiles": row[12],
        }

    def _look_up(self, connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
        """Told which file to look in: what a bucketed table is for."""
        known, absent = self._work.made.probes()
        return {
            "known_ms": self._median_ms(connection, known, 1),
            "absent_ms": self._median_ms(connection, absent, 0),
        }

    def _median_ms(
        self, connection: duckdb.DuckDBPyConnection, urls: list[str], wanted: int
    ) -> float:
        by_bucket = {
            file.bucket: path for file, path in zip(self._snapshot.files, self._files, strict=True)
        }
        spent = []
        for url in urls[: self._work.lookups]:
            path = by_bucket[bucket_of(url.split("/")[2], self._snapshot.buckets)]
            drop_from_cache(self._crawl)
            started = time.perf_counter()
            # as Arrow, like ours: Python's times with a zone would need a package more
            query = connection.sql(f"FROM '{path}' WHERE url = ?", params=[url])
            found = query.to_arrow_table()
            spent.append(time.perf_counter() - started)
            if found.num_rows != wanted:
                raise AssertionError(f"{url}: {found.num_rows} rows")
        return statistics.median(spent) * 1000
