"""What a topic contains, and brokers in memory: librdkafka's own, for its tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

_PATIENCE_S = 30.0


class Record(NamedTuple):
    """A message, as consumers are given it."""

    key: str
    value: dict[str, Any] | None
    version: int
    headers: dict[str, str]
    partition: int


@contextmanager
def mock_brokers() -> Iterator[str]:
    """The address of a cluster that lives as long as the block."""
    holder = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
    (broker,) = holder.list_topics(timeout=_PATIENCE_S).brokers.values()
    yield f"{broker.host}:{broker.port}"
    del holder


def records_of(brokers: str, topic: str) -> list[Record]:
    """All messages of a topic, those of a partition in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "test",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    try:
        partitions = consumer.list_topics(topic, _PATIENCE_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        found: list[Record] = []
        ended: set[int] = set()
        while len(ended) < len(partitions):
            message = consumer.poll(_PATIENCE_S)
            assert message is not None, "the topic cannot be read"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(message.partition() or 0)
                continue
            given = cast("list[tuple[str, bytes]]", message.headers() or [])
            headers = {name: _text(raw) for name, raw in given}
            value = message.value()
            found.append(
                Record(
                    _text(message.key()),
                    None if value is None else json.loads(value),
                    int(headers["version"]),
                    headers,
                    message.partition() or 0,
                )
            )
        return found
    finally:
        consumer.close()


def _text(raw: str | bytes | None) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw or ""


def compacted(records: list[Record]) -> dict[str, dict[str, Any]]:
    """What is left when a log is compacted: the last message of each key, without tombstones."""
    last = {record.key: record.value for record in records}
    return {key: value for key, value in last.items() if value is not None}
