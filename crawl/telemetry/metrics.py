"""Every metric as data: the exporter, the dashboard's test and docker/metrics.md read this.

No label ever holds a URL or a host: what a server sends must not make time series. All
carry the label `crawl` beside their own.

    python -m crawl.telemetry.metrics > docker/metrics.md
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CRAWL = "crawl"


class MetricKind(StrEnum):
    """What may be done with a figure."""

    COUNTER = "counter"
    """Only grows, within a command."""
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure by its labels."""

    name: str
    kind: MetricKind
    about: str
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets; there is one more above the last."""

    @property
    def series(self) -> tuple[str, ...]:
        """The names under which Prometheus stores it."""
        if self.kind is MetricKind.HISTOGRAM:
            return tuple(f"{self.name}_{part}" for part in ("bucket", "count", "sum"))
        return (self.name,)


def _counter(name: str, about: str, *labels: str) -> Metric:
    return Metric(f"nutria_{name}_total", MetricKind.COUNTER, about, labels)


def _gauge(name: str, about: str, *labels: str) -> Metric:
    return Metric(f"nutria_{name}", MetricKind.GAUGE, about, labels)


def _histogram(name: str, about: str, bounds: tuple[float, ...], *labels: str) -> Metric:
    return Metric(f"nutria_{name}", MetricKind.HISTOGRAM, about, labels, bounds)


# --- commands and phases ---------------------------------------------------------------
BUILD = _gauge("build_info", "1, with the version of the crawler.", "version")
COMMAND_RUNNING = _gauge("command_running", "1 while the command runs, 0 at its end.", "command")
ROUND = _gauge("round", "The round under way, counted from 1 by `crawl run`.")
PHASE_RUNNING = _gauge("phase_running", "1 while the phase is at work.", "phase")
PHASE_RUNS = _counter(
    "phase_runs",
    "Phases that ended, by how: success, interrupted, nothing_to_do, failure.",
    "phase",
    "outcome",
)
PHASE_SECONDS = _gauge("phase_seconds", "How long the phase's last success took.", "phase")
PHASE_LAST_SUCCESS = _gauge(
    "phase_last_success_timestamp_seconds", "When the phase last ended well, since 1970.", "phase"
)
PHASE_LAST_FAILURE = _gauge(
    "phase_last_failure_timestamp_seconds", "When the phase last failed, since 1970.", "phase"
)
PHASE_EVENTS = _counter(
    "phase_events", "What the phase's report counts, by its names there.", "phase", "event"
)
STEP_SECONDS = _gauge("step_seconds", "How long the step last took.", "phase", "step")
TASK_SECONDS = _histogram(
    "task_seconds",
    "How long the tasks of a step took, each on its worker; of parse: the time that parsing takes.",
    (0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 10800),
    *("phase", "step"),
)

# --- the CrawlDb -----------------------------------------------------------------------
CRAWLDB_RECORDS = _gauge(
    "crawldb_records", "Records by status, after inject and updatedb.", "status"
)
CRAWLDB_BYTES = _gauge("crawldb_bytes", "Size of the current snapshot's files.")
CRAWLDB_SNAPSHOT = _gauge("crawldb_snapshot", "Number of the current snapshot.")

# --- fetch: told by its workers --------------------------------------------------------
FETCH_PAGES = _counter("fetch_pages", "Pages by what became of them.", "status")
FETCH_ANSWERS = _counter(
    "fetch_answers",
    "Answers to requests for pages: http_404, connect_timeout, and the protocol status.",
    *("answer", "protocol_status"),
)
FETCH_REQUESTS = _counter("fetch_requests", "Requests sent, those for robots.txt included.")
FETCH_BYTES = _counter("fetch_bytes", "Bytes of bodies received.")
FETCH_REQUEST_SECONDS = _histogram(
    "fetch_request_seconds",
    "From a page's request to its whole answer.",
    (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
)
FETCH_ROBOTS_DENIED = _counter("fetch_robots_denied", "Pages that a robots.txt forbids.")
FETCH_ROBOTS_REQUESTS = _counter("fetch_robots_requests", "Answers to requests for robots.txt.")
FETCH_REDIRECTS = _counter("fetch_redirects", "Redirects: followed, left_for_later, …", "outcome")
FETCH_HANDED_BACK = _counter(
    "fetch_handed_back", "URLs of the list that stay due, by reason.", "reason"
)
FETCH_QUEUES_CLOSED = _counter("fetch_queues_closed", "Hosts given up after too many failures.")
FETCH_HUNG_THREADS = _counter("fetch_hung_threads", "Requests that did not end and were left.")
FETCH_THREADS_BUSY = _gauge("fetch_threads_busy", "Requests under way now.")
FETCH_QUEUES = _gauge(
    "fetch_queues",
    "Hosts by state: ready, waiting (pause or request), awaiting_robots, backed_off, blocked.",
    "state",
)
FETCH_URLS_WAITING = _gauge("fetch_urls_waiting", "URLs in the hosts' queues, in memory.")
FETCH_URLS_LEFT = _gauge("fetch_urls_left", "URLs, listed or followed, that are not settled yet.")
FETCH_LONGEST_QUEUE = _gauge(
    "fetch_longest_queue_seconds", "How long the longest queue takes by its pauses alone."
)
FETCH_PARTS = _gauge("fetch_parts", "Parts of the list: listed, and told of so far.", "state")
FETCH_SILENCE = _gauge(
    "fetch_silence_seconds", "Since the most silent unfinished part told anything."
)
FETCH_WORKER_MEMORY = _gauge("fetch_worker_memory_bytes", "Peak memory of the largest worker.")

# --- parse -----------------------------------------------------------------------------
PARSE_PAGES = _counter("parse_pages", "Parsed documents by outcome.", "outcome")

# --- the realtime lane -----------------------------------------------------------------
SERVICE_READY = _gauge("service_ready", "1 while it can do what it is there for, as /readyz says.")
SERVICE_JOBS = _counter("service_jobs", "Submitted URLs by what became of them.", "state")
SERVICE_REFUSALS = _counter(
    "service_refusals",
    "Jobs that were not taken on, or not fetched, each once; busy and host_busy are overload.",
    "reason",
)
SERVICE_RETURNED = _counter(
    "service_returned",
    "URLs that the fetcher gave back unasked; their jobs are tried again, left or refused.",
    "reason",
)
SERVICE_TRIED_AGAIN = _counter("service_tried_again", "Requests that are to be sent once more.")
SERVICE_WAITING = _gauge("service_waiting", "Jobs in the queue that nobody works on.", "priority")
SERVICE_CLAIMED = _gauge("service_claimed", "Jobs that are being worked on.")
SERVICE_IN_LANE = _gauge(
    "service_in_lane", "URLs in the engine: their servers' turn, or under way."
)
SERVICE_JOBS_PER_SECOND = _gauge("service_jobs_per_second", "Jobs that ended, lately.")
SERVICE_STAGE_SECONDS = _histogram(
    "service_stage_seconds",
    "From submission to look-up, by stage: queue, robots, dns, connect, first_byte, body, parse,"
    " store; total: all of it, per job; own: from the answer's last byte to the job's end.",
    (0.001, 0.005, 0.02, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300),
    "stage",
)
SERVICE_HOSTS = _gauge(
    "service_hosts",
    "Hosts that the engine knows: busy, or idle; of those that are idle, owed a pause.",
    "state",
)
SERVICE_HOSTS_RETIRED = _counter("service_hosts_retired", "Idle queues of hosts that were dropped.")
SERVICE_PARSER_RESTARTS = _counter(
    "service_parser_restarts", "Pages at which the parser's process ended, and began anew."
)
SERVICE_SEGMENTS = _counter("service_segments", "Segments published.")
SERVICE_SEGMENT_AGE = _gauge(
    "service_segment_age_seconds", "Age of the segment that is written to; 0 where none is open."
)
SERVICE_PUBLISHED = _gauge(
    "service_published_timestamp_seconds", "When the last segment was published, since 1970."
)
SERVICE_SEARCH_BEHIND = _gauge(
    "service_search_behind_seconds", "For how long fetched pages wait to be found by the search."
)
SERVICE_STORE_ERRORS = _counter(
    "service_store_errors", "Requests to the metadata store that failed.", "operation"
)
SERVICE_STORE_FAILING = _gauge(
    "service_store_failing_seconds", "For how long work has waited for the store or the disk."
)
SERVICE_CHORES_FAILED = _counter(
    "service_chores_failed", "What is done now and then, and could not be.", "chore"
)
SERVICE_API_ERRORS = _counter(
    "service_api_errors", "Requests that were answered with an error, by its code.", "code"
)
SERVICE_API_REQUESTS = _counter(
    "service_api_requests", "Requests, by endpoint and status.", "endpoint", "status"
)
SERVICE_API_SECONDS = _histogram(
    "service_api_seconds",
    "How long requests took, those that wait for a page aside.",
    (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
    "endpoint",
)
SERVICE_WEBHOOKS = _counter(
    "service_webhooks",
    "Deliveries to webhooks: stored, attempts by how they ended (delivered, status, timeout, …),"
    " dead letters by reason (dead_…), and what was dropped: too_large, webhook_removed.",
    "outcome",
)
SERVICE_WEBHOOKS_WAITING = _gauge(
    "service_webhooks_waiting", "Deliveries that this process is to make, now or later."
)

# --- of telemetry itself ---------------------------------------------------------------
LABELS_FOLDED = _counter(
    "telemetry_labels_folded", "Figures that were counted as `other`: too many label values."
)

ALL: tuple[Metric, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Metric)
)


def as_markdown() -> str:
    """The page for people."""
    rows = [
        f"| `{metric.name}` | {metric.kind} | {_labels(metric)} | {metric.about} |"
        for metric in ALL
    ]
    return _HEAD + "\n".join(rows) + "\n"


def _labels(metric: Metric) -> str:
    return ", ".join(f"`{label}`" for label in metric.labels)


_HEAD = """\
# Metrics

Made by `python -m crawl.telemetry.metrics`. Every metric has the label `crawl` too, the name of
the crawl's folder (or `metrics.crawl.label`); none holds a URL or a host. Counters begin at 0 with
each command: ask for `rate()` and `increase()`. The driver tells them all. Workers of a fetch tell
it how far they are by the files that `crawl status` reads, every `fetcher.progress.interval`: so
there is one target to scrape for a command, and short-lived processes of one node need no ports.
Let Prometheus hear of them in one way, by scrape, by push or by file: two would count twice.

| name | kind | labels | what |
| --- | --- | --- | --- |
"""

if __name__ == "__main__":
    print(as_markdown(), end="")
