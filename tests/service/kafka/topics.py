"""Reads and writes topics, as somebody outside of the service does."""

from __future__ import annotations

import json
from typing import Any

from confluent_kafka import Consumer, Producer


def put(brokers: str, topic: str, values: list[bytes]) -> None:
    """Puts messages into a topic; they are there when it returns."""
    producer = Producer({"bootstrap.servers": brokers, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(60) == 0


class TopicReader:
    """Everything of a topic, as it comes."""

    def __init__(self, brokers: str, topic: str) -> None:
        self.values: list[dict[str, Any]] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": brokers,
                "group.id": f"test-of-{topic}",
                "auto.offset.reset": "earliest",
                "topic.metadata.refresh.interval.ms": 500,
                "log_level": 0,
            }
        )
        self._consumer.subscribe([topic])

    def read(self) -> list[dict[str, Any]]:
        """What there is by now."""
        for message in self._consumer.consume(500, 0.2):
            value = message.value()
            if message.error() is None and value is not None:
                self.values.append(json.loads(value))
        return self.values

    def close(self) -> None:
        self._consumer.close()
