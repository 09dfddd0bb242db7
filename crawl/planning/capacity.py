"""What a day of crawling is in work: pure arithmetic from how much there is to do and what
a unit of it costs, phase by phase. What a cluster makes of it is cluster.py's to say."""

from __future__ import annotations

import math
from dataclasses import dataclass

from crawl.planning.costs import Costs
from crawl.planning.demand import Demand
from crawl.planning.driver import generate_bytes, inject_bytes, segment_bytes, updatedb_bytes
from crawl.planning.store_requests import (
    CHUNK,
    FETCH,
    FETCH_PART,
    FETCH_PART_SECOND,
    NO_REQUESTS,
    PARSE,
    PARSE_TASK,
    PUBLICATION,
    ROBOTS_ANSWERS,
    SEGMENT_CHOICE,
    StoreRequests,
    deleting_folder,
    forgetting,
    publishing,
    reading,
    reading_whole,
    writing,
)

CANDIDATE_BYTES = 150
"""Memory of a record that generate may select, of which those of a whole bucket meet in one task.
Measured: 147 with 4 million."""
PAGES_PER_CHUNK = 10_000
BYTES_PER_CHUNK = 128 << 20
"""A part of a fetch commits a chunk when it has so many pages or bytes, and when it ends
(fetcher.checkpoint.*); those that it commits because they are old are few."""
PARSE_TASK_BYTES = 8 << 20
"""Of stored pages: a task parses several files where they are not more together."""
ROWS_PER_BUNDLE = 400_000
"""Rows that one task of updatedb reads and sends to their buckets."""
LIST_READS = 3
"""How often a part of a fetch list is read: for its hosts, its servers and its URLs."""
ROBOTS_BYTES = 2_000
ROBOTS_SNAPSHOTS = 2
HOST_BYTES = 60
"""Of a host's state in the CrawlDb, and of its answer for robots.txt without the body."""


@dataclass(frozen=True, slots=True)
class PhaseWork:
    """What one run of a phase has to do, wherever that is done."""

    phase: str
    cpu_s: float
    start_s: float = 0.0
    """Seconds that every worker takes before it begins."""
    tasks: float = math.inf
    """So many can be worked on at once."""
    task_bytes: float = 0.0
    """Memory of one."""
    web_bytes: float = 0.0
    read_bytes: float = 0.0
    written_bytes: float = 0.0
    exchanged_bytes: float = 0.0
    """Between tasks, by way of the nodes' own disks: no store sees them."""
    requests: StoreRequests = NO_REQUESTS
    requests_a_second: StoreRequests = NO_REQUESTS
    """Further ones of every second that a task runs."""
    driver_bytes: float = 0.0
    """Sent by the driver and returned to it."""
    http: float = 0.0
    """Requests to hosts."""
    least_s: float = 0.0
    """Politeness lets nobody be faster."""
    waiting_s: float = 0.0
    """Threads' seconds spent waiting for hosts' answers."""

    @property
    def network_bytes(self) -> float:
        return self.web_bytes + self.read_bytes + self.written_bytes + self.exchanged_bytes


def round_of(demand: Demand, costs: Costs) -> tuple[PhaseWork, ...]:
    """The phases of one round, in their order."""
    return (
        generate(demand, costs),
        fetch(demand, costs),
        parse(demand, costs),
        updatedb(demand, costs),
    )


def inject(demand: Demand, costs: Costs, known_urls: float = 0.0) -> PhaseWork:
    """The seeds, into a CrawlDb that knows so many URLs."""
    files = demand.file_count if known_urls else demand.bucket_count
    records = known_urls + demand.seeds
    cpu_us = demand.seeds * costs.inject_seed_us + known_urls * costs.inject_record_us
    cpu_us += files * costs.inject_task_us
    cpu_us += _exchange_us(demand.seeds, 2 * files, costs)
    read, written = known_urls * costs.disk_record, records * costs.disk_record
    return PhaseWork(
        "inject",
        cpu_us / 1e6,
        tasks=files,
        task_bytes=records / files * costs.memory_bucket_record,
        read_bytes=read,
        written_bytes=written,
        exchanged_bytes=demand.seeds * costs.exchange_row_bytes,
        requests=reading(files if known_urls else 0, read)
        + writing(files, written)
        + publishing(files, demand.snapshots, files if known_urls else 0),
        driver_bytes=inject_bytes(files),
    )


def generate(demand: Demand, costs: Costs) -> PhaseWork:
    """A scan of all records, and a fetch list."""
    files, pages = demand.file_count, demand.pages_per_round
    cpu_us = demand.urls * costs.generate_record_us + pages * costs.generate_selected_us
    cpu_us += files * costs.generate_task_us
    # a selected record goes to where its host's meet, and from there to its part
    sent = 2 * pages
    cpu_us += _exchange_us(sent, 3 * files, costs)
    read, written = demand.urls * costs.disk_record, pages * costs.disk_listed
    parts = demand.part_count
    return PhaseWork(
        "generate",
        cpu_us / 1e6,
        tasks=files,
        task_bytes=max(_file_bytes(demand, costs), demand.bucket_records * CANDIDATE_BYTES),
        read_bytes=2 * read,  # to choose, and to take what was chosen
        written_bytes=written,
        exchanged_bytes=sent * costs.exchange_row_bytes,
        requests=reading(2 * files, 2 * read)
        + reading_whole(files)  # of hosts
        + writing(parts, written)
        + PUBLICATION,
        driver_bytes=generate_bytes(demand.urls, files, pages, demand.hosts_in_round, parts),
    )


def fetch(demand: Demand, costs: Costs) -> PhaseWork:
    """Every page over a connection of its own: a host's is closed before its turn comes
    again. robots.txt is asked for once a day (http.robots.keep)."""
    pages, robots, chunks = demand.pages_per_round, demand.robots_per_round, _chunks(demand)
    kilobytes = pages * demand.page_bytes / 1000
    cpu_us = (pages + robots) * (costs.fetch_page_us + costs.fetch_connection_us)
    cpu_us += kilobytes * costs.fetch_kilobyte_us
    parts, buckets, listed = demand.part_count, demand.bucket_count, pages * costs.disk_listed
    written = pages * costs.disk_fetched + kilobytes * costs.disk_content_kilobyte
    robots_bytes = _robots_bytes(demand, costs)
    # a part looks into every bucket in which one of its hosts may be
    looked_into = min(parts * buckets, demand.hosts_in_round)
    # new hosts are asked for their robots.txt when a part begins, in turns with known ones' pages
    learnt = min(chunks, parts + chunks * 2 * robots / (pages + robots))
    return PhaseWork(
        "fetch",
        cpu_us / 1e6,
        start_s=costs.fetch_start_us / 1e6,
        task_bytes=costs.memory_fetch_task,
        web_bytes=pages * demand.page_bytes + robots * ROBOTS_BYTES,
        read_bytes=LIST_READS * listed + robots_bytes,
        written_bytes=written + robots_bytes,
        requests=FETCH
        + FETCH_PART.times(parts)
        + reading(LIST_READS * parts, LIST_READS * listed)
        + reading_whole(2 * looked_into)  # of robots.txt and of servers' pauses
        + reading(2 * buckets, robots_bytes)
        + writing(2 * buckets, robots_bytes)
        + forgetting(2 * buckets, ROBOTS_SNAPSHOTS)
        + writing(chunks, kilobytes * costs.disk_content_kilobyte)
        + writing(chunks, pages * costs.disk_fetched)
        + CHUNK.times(chunks)
        + ROBOTS_ANSWERS.times(learnt)
        + deleting_folder(learnt)
        + deleting_folder(parts),  # of pauses
        requests_a_second=FETCH_PART_SECOND,
        driver_bytes=segment_bytes(2 * chunks),
        http=pages + robots,
        least_s=demand.polite_s,
        waiting_s=(pages + robots) * demand.pace.latency_s,
    )


def parse(demand: Demand, costs: Costs) -> PhaseWork:
    pages, chunks = demand.pages_per_round, _chunks(demand)
    kilobytes = pages * demand.page_bytes / 1000
    cpu_us = pages * costs.parse_page_us + kilobytes * costs.parse_kilobyte_us
    cpu_us += pages * demand.links * costs.parse_link_us
    read = kilobytes * costs.disk_content_kilobyte
    parsed, text = _parsed_bytes(demand, costs), kilobytes * costs.disk_text_kilobyte
    written = parsed + text
    tasks = max(1.0, chunks / max(1, PARSE_TASK_BYTES // max(1.0, read / chunks)))
    return PhaseWork(
        "parse",
        cpu_us / 1e6,
        start_s=costs.parse_start_us / 1e6,
        tasks=tasks,
        task_bytes=costs.memory_parse_task,
        read_bytes=read,
        written_bytes=written,
        requests=PARSE
        + PARSE_TASK.times(tasks)
        + reading(chunks, read)
        + writing(2 * tasks, parsed)
        + writing(tasks, text)
        + deleting_folder(tasks),  # of marks
        driver_bytes=segment_bytes(chunks + 3 * tasks),  # some are told, the others written
    )


def updatedb(demand: Demand, costs: Costs) -> PhaseWork:
    """The CrawlDb written anew; what the segment tells is read once and sent to the buckets."""
    buckets, files, pages = demand.bucket_count, demand.file_count, demand.pages_per_round
    sent_files = 2 * _chunks(demand)
    rows = pages * (2 + demand.links)
    cpu_us = demand.urls * costs.updatedb_record_us + pages * costs.updatedb_page_us
    cpu_us += pages * demand.links * costs.updatedb_link_us + files * costs.updatedb_task_us
    base = demand.urls * costs.disk_record
    segment_bytes = pages * costs.disk_fetched + _parsed_bytes(demand, costs)
    cpu_us += _exchange_us(rows, rows / ROWS_PER_BUNDLE + files, costs)
    return PhaseWork(
        "updatedb",
        cpu_us / 1e6,
        tasks=files,
        task_bytes=_file_bytes(demand, costs),
        read_bytes=base + segment_bytes,
        written_bytes=base,
        exchanged_bytes=rows * costs.exchange_row_bytes,
        requests=reading_whole(sent_files + buckets)  # of the segment, and of hosts
        + reading(files, base)
        + writing(files, base)
        + writing(buckets, demand.hosts * HOST_BYTES)
        + SEGMENT_CHOICE
        + publishing(files + buckets, demand.snapshots, files + buckets),
        driver_bytes=updatedb_bytes(sent_files, files),
    )


@dataclass(frozen=True, slots=True)
class Storage:
    """What is kept, in bytes, by the phase that writes it."""

    updatedb: float
    """The CrawlDb in all its snapshots; inject's is one of them."""
    generate: float
    fetch: float
    parse: float
    robots: float
    """The last answers for robots.txt, between the fetches."""

    @property
    def segments(self) -> float:
        return self.generate + self.fetch + self.parse

    @property
    def total(self) -> float:
        return self.updatedb + self.segments + self.robots


def storage(demand: Demand, costs: Costs) -> Storage:
    kilobytes, pages = demand.page_bytes / 1000, demand.pages_per_day * demand.keep_days
    parsed = costs.disk_parsed_page + demand.links * costs.disk_parsed_link
    return Storage(
        updatedb=demand.urls * costs.disk_record * demand.snapshots,
        generate=pages * costs.disk_listed,
        fetch=pages * (costs.disk_fetched + kilobytes * costs.disk_content_kilobyte),
        parse=pages * (parsed + kilobytes * costs.disk_text_kilobyte),
        robots=ROBOTS_SNAPSHOTS * _robots_bytes(demand, costs),
    )


def _exchange_us(rows: float, tasks: float, costs: Costs) -> float:
    """What Spark takes to move so many rows between so many tasks."""
    return rows * costs.exchange_row_us + tasks * costs.exchange_task_us


def _file_bytes(demand: Demand, costs: Costs) -> float:
    """Memory of a task that works on one file of the CrawlDb."""
    return demand.urls / demand.file_count * costs.memory_bucket_record


def _robots_bytes(demand: Demand, costs: Costs) -> float:
    """The answers that are kept: text, which takes as much as pages do."""
    each = HOST_BYTES + ROBOTS_BYTES / 1000 * costs.disk_content_kilobyte
    return demand.robots_kept * each


def _parsed_bytes(demand: Demand, costs: Costs) -> float:
    each = costs.disk_parsed_page + demand.links * costs.disk_parsed_link
    return demand.pages_per_round * each


def _chunks(demand: Demand) -> float:
    pages = demand.pages_per_round
    full = max(pages / PAGES_PER_CHUNK, pages * demand.page_bytes / BYTES_PER_CHUNK)
    return max(full, demand.part_count)
