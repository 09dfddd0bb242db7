from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from crawl.storage.layout import bucket_of, buckets_of


def test_a_host_never_changes_its_bucket() -> None:
    # written down: a change of these numbers would lose URLs of every existing CrawlDb
    assert [bucket_of(host, 64) for host in ("example.org", "a.b", "", "[::1]")] == [36, 14, 36, 9]


@given(hosts=st.lists(st.text(alphabet="ab.é", max_size=5)), buckets=st.integers(1, 100))
def test_a_column_is_bucketed_like_its_hosts(hosts: list[str], buckets: int) -> None:
    plain = pa.array(hosts, pa.string())
    expected = [bucket_of(host, buckets) for host in hosts]
    for column in (
        plain,
        plain.dictionary_encode(),
        pa.chunked_array([plain, plain.slice(0, 0)]),
        pa.chunked_array([plain.dictionary_encode()]),
    ):
        assert buckets_of(column, buckets).tolist() == expected
