"""Settings of metrics, traces and logs: all of it is off unless a property switches it on."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crawl.config import Config, boolean, choice, duration, integer, number, text

METRICS_PORT = integer(
    "metrics.prometheus.port",
    -1,
    "The driver answers Prometheus here while its command runs; 0: any free port; where the port"
    " is taken, one of the hundred after it; -1: not at all. Needs the extra metrics.",
    minimum=-1,
    maximum=65535,
)
METRICS_ADDRESS = text(
    "metrics.prometheus.address",
    "127.0.0.1",
    "The address that is listened on for Prometheus; 0.0.0.0: all.",
)
METRICS_DISCOVERY = text(
    "metrics.prometheus.discovery",
    "",
    "Folder in which a running command puts a file that tells Prometheus its address and port"
    " (file_sd_configs); empty: none.",
)
METRICS_LINGER = duration(
    "metrics.prometheus.linger",
    15,
    "How long a command waits at its end for Prometheus to ask once more, or the last figures"
    " would be lost; only where it has asked before, or may find the command by its file.",
    unit="s",
)
METRICS_PUSHGATEWAY = text(
    "metrics.pushgateway.url",
    "",
    "Pushgateway that the driver sends its metrics to, now and then and at the end; empty: none."
    " Needs the extra metrics.",
)
METRICS_TEXTFILE = text(
    "metrics.textfile",
    "",
    "Folder of node_exporter's textfile collector, into which the driver writes its metrics; they"
    " stay there when it ends; empty: none. Needs the extra metrics.",
)
METRICS_INTERVAL = duration(
    "metrics.interval",
    5,
    "How often the workers of a fetch are asked, and metrics are pushed and written.",
    unit="s",
    minimum=0.1,
)
METRICS_CRAWL_LABEL = text(
    "metrics.crawl.label", "", "The label `crawl` of all metrics; empty: the folder's name."
)
METRICS_CRAWLDB = boolean(
    "metrics.crawldb.records",
    True,
    "Where metrics are told, count the CrawlDb's records by status after inject and updatedb,"
    " which reads one small column of it.",
)
TRACES_ENDPOINT = text(
    "traces.otlp.endpoint",
    "",
    "OpenTelemetry collector that driver and workers send their spans to, by OTLP over HTTP:"
    " http://collector:4318; empty: none. Headers: OTEL_EXPORTER_OTLP_HEADERS. Needs the extra"
    " traces.",
)
TRACES_TIMEOUT = duration(
    "traces.otlp.timeout", 5, "How long a collector may take to answer.", unit="s", minimum=0.1
)
TRACES_PAGES = number(
    "traces.pages.sample",
    0,
    "Share of fetched pages, chosen by chance, that get a span of their own.",
    minimum=0,
    maximum=1,
)
LOG_FORMAT = choice(
    "log.format",
    "text",
    ("text", "json"),
    "json: what driver, workers and the JVM log is one JSON object a line; the commands' answers"
    " stay as they are.",
)
LOG_LEVEL = choice(
    "log.level", "info", ("debug", "info", "warning", "error"), "The least that is logged as JSON."
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What is switched on; travels to the workers with their tasks."""

    port: int = -1
    address: str = "127.0.0.1"
    discovery: str = ""
    linger_s: float = 15.0
    pushgateway: str = ""
    textfile: str = ""
    interval_s: float = 5.0
    crawl_label: str = ""
    counts_crawldb: bool = True
    endpoint: str = ""
    timeout_s: float = 5.0
    pages_sample: float = 0.0
    log_json: bool = False
    log_level: str = "info"

    @classmethod
    def of(cls, config: Config) -> Settings:
        return cls(
            port=config[METRICS_PORT],
            address=config[METRICS_ADDRESS],
            discovery=config[METRICS_DISCOVERY],
            linger_s=config[METRICS_LINGER],
            pushgateway=config[METRICS_PUSHGATEWAY],
            textfile=config[METRICS_TEXTFILE],
            interval_s=config[METRICS_INTERVAL],
            crawl_label=config[METRICS_CRAWL_LABEL],
            counts_crawldb=config[METRICS_CRAWLDB],
            endpoint=config[TRACES_ENDPOINT],
            timeout_s=config[TRACES_TIMEOUT],
            pages_sample=config[TRACES_PAGES],
            log_json=config[LOG_FORMAT] == "json",
            log_level=config[LOG_LEVEL],
        )

    @property
    def measures(self) -> bool:
        """Whether metrics go anywhere."""
        return self.port >= 0 or bool(self.pushgateway or self.textfile)

    @property
    def traces(self) -> bool:
        return bool(self.endpoint)

    @property
    def is_on(self) -> bool:
        return self.measures or self.traces or self.log_json

    def without_metrics(self) -> Settings:
        """For a worker: the driver tells its metrics."""
        return replace(self, port=-1, discovery="", pushgateway="", textfile="")
