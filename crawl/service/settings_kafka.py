"""The settings of Kafka between the roles of the service."""

from __future__ import annotations

from crawl.config import duration, integer, size, string_list, text

KAFKA_SERVERS = string_list(
    "service.kafka.servers",
    (),
    "Brokers, as HOST:PORT, between the roles of the service; empty: it is one process, without"
    " Kafka.",
)
KAFKA_PREFIX = text(
    "service.kafka.prefix", "nutria", "What the names of the service's topics begin with."
)
KAFKA_PARTITIONS = integer(
    "service.kafka.partitions",
    24,
    "Partitions of topics that are made: more processes than these cannot fetch at a time. To"
    " change it later, stop all roles first.",
    minimum=1,
    maximum=10_000,
)
KAFKA_REPLICATION = integer(
    "service.kafka.replication",
    1,
    "Copies of topics that are made; 3 for what must survive the loss of a broker.",
    minimum=1,
    maximum=100,
)
KAFKA_RETENTION = duration(
    "service.kafka.retention",
    7 * 86_400.0,
    "For how long brokers keep messages of topics that are made.",
    unit="s",
    minimum=60.0,
)
KAFKA_SESSION = duration(
    "service.kafka.session",
    6.0,
    "Another takes over the domains of a fetching process that is silent for this. Brokers bound"
    " it (group.min.session.timeout.ms, 6 s).",
    unit="s",
    minimum=1.0,
    maximum=300.0,
)
KAFKA_MARGIN = duration(
    "service.kafka.margin",
    1.5,
    "A process that has not heard from the brokers asks nobody for so long before another may take"
    " over: for clocks and requests on their way.",
    unit="s",
    minimum=0.1,
    maximum=60.0,
)
KAFKA_TIMEOUT = duration(
    "service.kafka.timeout",
    5.0,
    "A submission that the brokers have not taken after this is refused with 503.",
    unit="s",
    minimum=0.5,
    maximum=300.0,
)
KAFKA_OWNED = integer(
    "service.kafka.owned",
    50_000,
    "Jobs that a fetching process holds in memory; the others wait in Kafka.",
    unit="URLs",
    minimum=100,
)
KAFKA_MESSAGE_BYTES = size(
    "service.kafka.message.bytes",
    8 << 20,
    "The largest message of the topic of results; a page that does not fit is refused with the"
    " reason too_large_to_carry.",
    minimum=100_000,
)
KAFKA_PROPERTIES = text(
    "service.kafka.properties",
    "",
    "A file with further properties of the client (librdkafka's, a line `name=value` each), such as"
    " those of TLS and SASL; empty: none.",
)
