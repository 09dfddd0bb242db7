"""updatedb in SQL: the state machine, the default schedule and opic, as far as the made
segment needs them (no failed parses, one segment, no interval beyond the longest)."""

from __future__ import annotations

from dataclasses import dataclass

from crawldb_data import Made
from crawldb_segment import NAME
from crawldb_shape import NOW_MS

from crawl.config import Config
from crawl.config.properties import (
    DB_FETCH_INTERVAL_DEFAULT,
    DB_FETCH_INTERVAL_MAX,
    DB_FETCH_RETRY_MAX,
)

_SUCCESS, _RETRY, _TEMP, _PERM, _GONE, _SAME = 0x21, 0x22, 0x23, 0x24, 0x25, 0x26
_SIGNATURE, _LINKED = 0x41, 0x43


@dataclass(frozen=True, slots=True)
class Update:
    """The statements for one made CrawlDb and its segment."""

    made: Made
    config: Config

    def told(self, *, tell_buckets: bool) -> str:
        """What the segment tells, a row a URL. To be told the bucket of each host saves
        DuckDB the hashing."""
        segment = f"{self.made.segments}/{NAME}"
        fetch, parse = (f"'{segment}/{part}/*.parquet'" for part in ("crawl_fetch", "crawl_parse"))
        bucket = "" if not tell_buckets else f"JOIN '{self.made.host_buckets}' USING (host)"
        return f"""
            CREATE TEMP TABLE told AS
            WITH links AS (
                SELECT url, any_value(host) AS host, sum(score::DOUBLE) AS cash
                FROM {parse} WHERE status = {_LINKED} GROUP BY url
            ), pages AS (
                SELECT f.url, f.host, f.status, f.fetch_time, f.metadata, s.signature
                FROM {fetch} AS f
                LEFT JOIN (FROM {parse} WHERE status = {_SIGNATURE}) AS s USING (url)
            ), heard AS (
                SELECT coalesce(p.url, l.url) AS url, coalesce(p.host, l.host) AS host,
                       p.status, p.fetch_time, p.metadata, p.signature, cash
                FROM pages AS p FULL JOIN links AS l USING (url)
            )
            SELECT * FROM heard {bucket}
        """

    def query(self, base: str, told: str) -> str:
        """The CrawlDb's new records."""
        longest = int(self.config[DB_FETCH_INTERVAL_MAX])
        tries = self.config[DB_FETCH_RETRY_MAX]
        return f"""
            WITH joined AS (
                SELECT coalesce(b.url, t.url) AS url, coalesce(b.host, t.host) AS host,
                       b.status AS was, t.status AS answered, b.* EXCLUDE (url, host, status),
                       t.fetch_time AS fetched, t.metadata AS answer, t.signature AS digest, cash,
                       answered = {_GONE}
                           OR (answered = {_RETRY} AND b.retries + 1 >= {tries}) AS gone,
                       answered = {_SAME} OR (answered = {_SUCCESS}
                           AND coalesce(b.signature = t.signature, false)) AS same,
                       answered IN ({_SUCCESS}, {_TEMP}, {_PERM}, {_SAME}) AS reached
                FROM {base} AS b FULL JOIN {told} AS t ON b.url = t.url
            ), timed AS (
                SELECT *, CASE WHEN was IS NULL THEN {self.config[DB_FETCH_INTERVAL_DEFAULT]}
                               WHEN gone THEN CASE
                                   WHEN (fetch_interval * 1.5)::INT < {longest}
                                   THEN (fetch_interval * 1.5)::INT ELSE {int(longest * 0.9)} END
                               ELSE fetch_interval END::INT AS interval
                FROM joined
            )
            SELECT url, host,
                   CASE WHEN answered IS NULL THEN coalesce(was, 1)
                        WHEN gone THEN 3
                        WHEN answered = {_RETRY} THEN 1
                        WHEN same THEN 6
                        WHEN answered = {_TEMP} THEN 4
                        WHEN answered = {_PERM} THEN 5
                        ELSE 2 END::TINYINT AS status,
                   CASE WHEN was IS NULL THEN make_timestamptz({NOW_MS}000)
                        WHEN answered IS NULL THEN fetch_time
                        WHEN gone OR reached THEN fetched + to_seconds(interval)
                        ELSE fetched + to_days(1) END AS fetch_time,
                   CASE WHEN NOT reached OR answered IS NULL OR same THEN modified_time
                        WHEN answered = {_SUCCESS} AND signature IS NOT NULL THEN fetched
                        ELSE coalesce(modified_time, fetched) END AS modified_time,
                   interval AS fetch_interval,
                   CASE WHEN was IS NULL OR reached THEN 0
                        WHEN answered = {_RETRY} THEN least(retries + 1, {tries})
                        ELSE retries END::SMALLINT AS retries,
                   (coalesce(score, 0) + coalesce(cash, 0))::FLOAT AS score,
                   CASE WHEN answered IN ({_TEMP}, {_PERM}) THEN NULL
                        WHEN answered = {_SUCCESS} AND NOT same THEN coalesce(digest, signature)
                        ELSE signature END AS signature,
                   CASE WHEN was IS NULL THEN MAP {{}}::MAP(VARCHAR, VARCHAR)
                        WHEN answered IS NULL THEN metadata
                        ELSE map_from_entries(list_filter(
                            map_entries(map_concat(metadata, answer)),
                            lambda entry: entry.key <> '_ngt_')) END AS metadata
            FROM timed
        """
