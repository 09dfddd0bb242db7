"""Any record that the CrawlDb can hold, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from crawl.model.datum import CrawlDatum
from crawl.model.status import DB_STATUSES

words = st.text(st.characters(codec="utf-8"), max_size=6)

datums = st.builds(
    CrawlDatum,
    status=st.sampled_from(DB_STATUSES),
    fetch_time=st.integers(-(10**12), 10**14),
    modified_time=st.integers(0, 10**14),
    fetch_interval=st.integers(0, 2**31 - 1),
    retries=st.integers(0, 2**15 - 1),
    score=st.floats(width=32, allow_nan=False),
    signature=st.none() | st.binary(max_size=16),
    metadata=st.dictionaries(words, words, max_size=3),
)
