"""Costs that are round numbers, and strategies for demands."""

from __future__ import annotations

from hypothesis import strategies as st

from crawl.planning.costs import Costs
from crawl.planning.demand import Demand
from crawl.planning.host_sizes import HostPace

COSTS = Costs(
    inject_seed_us=10,
    inject_record_us=1,
    inject_task_us=1000,
    generate_record_us=1,
    generate_selected_us=10,
    generate_task_us=1000,
    fetch_page_us=100,
    fetch_kilobyte_us=1,
    fetch_connection_us=900,
    fetch_start_us=500_000,
    parse_page_us=200,
    parse_kilobyte_us=10,
    parse_link_us=5,
    parse_start_us=1_000_000,
    updatedb_record_us=2,
    updatedb_page_us=20,
    updatedb_link_us=1,
    updatedb_task_us=1000,
    exchange_row_us=1,
    exchange_task_us=2000,
    exchange_row_bytes=50,
    disk_record=40,
    disk_listed=30,
    disk_fetched=30,
    disk_content_kilobyte=200,
    disk_parsed_page=100,
    disk_parsed_link=10,
    disk_text_kilobyte=40,
    memory_bucket_record=500,
    memory_fetch_task=200e6,
    memory_parse_task=300e6,
)


@st.composite
def demands(draw: st.DrawFn) -> Demand:
    urls = draw(st.floats(1, 1e12))
    rounds = draw(st.floats(0.1, 48))
    return Demand(
        urls=urls,
        hosts=max(1.0, urls * draw(st.floats(1e-9, 1))),
        pages_per_day=min(urls * rounds, max(1e-3, urls * draw(st.floats(1e-6, 1)))),
        page_bytes=draw(st.floats(1, 1e7)),
        links=draw(st.floats(0, 1000)),
        pace=HostPace(draw(st.floats(0, 3600)), draw(st.floats(0, 60))),
        skew=draw(st.floats(0, 2)),
        revisit_days=draw(st.floats(0.1, 1000)),
        rounds_per_day=rounds,
        seeds=draw(st.floats(0, 1e9)),
        keep_days=draw(st.floats(0, 1000)),
    )
