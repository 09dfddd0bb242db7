"""Commits that callbacks of a consumer wait for, by a real broker."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from crawl.config import Config
from crawl.service.kafka.client import Kafka, committed_now
from crawl.service.kafka.values import KafkaSettings
from tests.plugins.indexwriter.real_kafka import RealKafka
from tests.service.kafka.site import PATIENCE_S, wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=10)]


def leave(brokers: str, topic: str) -> None:
    """Leaves a group while the answer to one commit waits to be told, and waits for another."""
    settings = KafkaSettings.of(Config.of({"service.kafka.servers": [brokers]}))
    assert settings is not None
    given: list[TopicPartition] = []
    told: list[object] = []
    done: list[TopicPartition] = []

    def on_assign(consumer: Any, partitions: list[TopicPartition]) -> None:
        given.extend(partitions)

    def on_revoke(consumer: Any, partitions: list[TopicPartition]) -> None:
        offsets = [TopicPartition(topic, each.partition, 0) for each in partitions]
        consumer.commit(offsets=offsets, asynchronous=True)
        done.extend(committed_now(consumer, offsets, PATIENCE_S / 2))

    consumer = Kafka(settings).consumer("g", {"on_commit": lambda error, _: told.append(error)})
    consumer.subscribe([topic], on_assign=on_assign, on_revoke=on_revoke)

    def has_partitions() -> bool:
        consumer.poll(0.1)
        return len(given) == 2

    wait_for(has_partitions, lambda: "no partitions are given")
    consumer.close()
    assert told == [None]
    assert [(each.offset, each.error) for each in done] == [(0, None)] * 2


def test_a_process_that_leaves_does_not_break_off(kafka: RealKafka) -> None:
    kafka.new_topic("left", 2, {})
    process = multiprocessing.get_context("spawn").Process(
        target=leave, args=(kafka.address, "left")
    )
    process.start()
    process.join(2 * PATIENCE_S)
    try:
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()
