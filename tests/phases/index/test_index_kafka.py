"""index and clean beside a real Kafka, which is killed in the middle of a delivery: the topic,
compacted by key, is the index."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import StorageError
from crawl.plugins.indexwriter.kafka import KafkaIndexWriter
from tests.phases.indexed import GONE, IndexedCrawl, Page
from tests.plugins.indexwriter.kafka_topic import Record, compacted, records_of
from tests.plugins.indexwriter.real_kafka import RealKafka, running_kafka

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=60)]

COMPACTED = {"cleanup.policy": "compact"}
URLS = tuple(f"http://h{number % 7}.com/{number}" for number in range(120))


@pytest.fixture(scope="module")
def kafka() -> Iterator[RealKafka]:
    with running_kafka() as server:
        yield server


def _crawl(folder: Path, kafka: RealKafka, topic: str, **parameters: object) -> IndexedCrawl:
    given = {"brokers": kafka.address, "topic": topic, **parameters}
    lines = "".join(f"{name} = {value!r}\n" for name, value in given.items())
    plugin = f"{__name__}:KillingWriter"
    folder.mkdir(exist_ok=True)
    rules = folder / "writers.toml"
    rules.write_text(f"[[writer]]\nid = 'topic'\nplugin = '{plugin}'\n[writer.parameters]\n{lines}")
    return IndexedCrawl(folder, "topic,jsonl", index__writers__file=str(rules))


class KillingWriter(KafkaIndexWriter):
    """Does something in the middle of a delivery, if a test asks for it."""

    own_parameters = (*KafkaIndexWriter.own_parameters,)
    before: Any = None
    """What is done before the n-th message, and its number."""
    sent = 0

    def __init__(self, config: Config, parameters: Any) -> None:
        super().__init__(config, parameters)

    def open(self, shard: Any) -> Any:
        opened = super().open(shard)
        send = opened._client.send  # type: ignore[attr-defined]

        def counted(*arguments: Any) -> None:
            KillingWriter.sent += 1
            if KillingWriter.before and KillingWriter.before[0] == KillingWriter.sent:
                KillingWriter.before[1]()
            send(*arguments)

        opened._client.send = counted  # type: ignore[attr-defined]
        return opened


@pytest.fixture(autouse=True)
def calm() -> Iterator[None]:
    KillingWriter.sent, KillingWriter.before = 0, None
    yield
    KillingWriter.before = None


def _require_topic_is_index(kafka: RealKafka, topic: str, crawl: IndexedCrawl) -> list[Record]:
    records = records_of(kafka.address, topic)
    found = compacted(records)
    written = crawl.documents("jsonl")
    for document in found.values():
        assert document.pop("version") > 0
    assert found == written
    return records


def test_the_topic_is_the_index_whatever_happens_to_the_broker(
    tmp_path: Path, kafka: RealKafka
) -> None:
    kafka.new_topic("pages", 3, COMPACTED)
    crawl = _crawl(tmp_path, kafka, "pages", timeout=60)
    crawl.round({url: Page(f"alpha{number} one") for number, url in enumerate(URLS)})

    # it dies, comes back while the job waits, and nobody notices
    def restarted() -> None:
        kafka.kill()
        threading.Timer(1.0, kafka.start_soon).start()

    KillingWriter.before = (50, restarted)
    assert crawl.index().documents == {"topic": len(URLS), "jsonl": len(URLS)}
    kafka.wait()
    records = _require_topic_is_index(kafka, "pages", crawl)
    assert len(records) == len(URLS)  # nothing lost, nothing twice

    # it dies and stays away: the job ends with one line, and nothing is published
    crawl.round(
        dict.fromkeys(URLS[:10], GONE) | {url: Page(f"beta {url} two") for url in URLS[10:60]}
    )
    before = crawl.documents("jsonl")
    away = _crawl(tmp_path, kafka, "pages", timeout=2)
    away.rounds = crawl.rounds
    KillingWriter.sent, KillingWriter.before = 0, (20, kafka.kill)
    with pytest.raises(StorageError, match=f"Kafka at {kafka.address} did not take") as told:
        away.index(delete_gone=True)
    assert "\n" not in str(told.value)
    assert crawl.documents("jsonl") == before

    with pytest.raises(StorageError, match="cannot be reached: .*refused"):
        _crawl(tmp_path, kafka, "pages", connect_timeout=1).index(delete_gone=True)

    # it is back: the same job does it
    kafka.start()
    KillingWriter.before = None
    done = crawl.index(delete_gone=True)
    assert done.documents == {"topic": len(URLS) - 10, "jsonl": len(URLS) - 10}
    records = _require_topic_is_index(kafka, "pages", crawl)
    gone = [record for record in records if record.value is None]
    assert {record.key for record in gone} == set(URLS[:10])
    assert all(record.version > 0 for record in records)

    crawl.round(dict.fromkeys(URLS[60:70], GONE))
    cleaned = crawl.clean()
    assert cleaned.documents["topic"] == len(URLS) - 20
    _require_topic_is_index(kafka, "pages", crawl)


def test_a_topic_that_is_not_there_or_takes_too_little(tmp_path: Path, kafka: RealKafka) -> None:
    missing = _crawl(tmp_path / "a", kafka, "nosuch", connect_timeout=1)
    missing.round({URLS[0]: Page("alpha")})
    with pytest.raises(StorageError, match="the topic 'nosuch': .*[Uu]nknown topic"):
        missing.index()
    kafka.new_topic("small", 1, {**COMPACTED, "max.message.bytes": "3000"})
    crawl = _crawl(tmp_path / "b", kafka, "small", compression="none")
    crawl.round({URLS[0]: Page("alpha"), URLS[1]: Page("beta " + "x" * 9000)})
    done = crawl.index()
    assert done.documents == {"topic": 1, "jsonl": 2}
    assert done.report.counters["topic.rejected"] == 1
    assert any("topic refused 1 document, such as" in remark for remark in done.remarks)
    assert set(compacted(records_of(kafka.address, "small"))) == {URLS[0]}
    fitting = _crawl(tmp_path / "b", kafka, "small", compression="none", max_message_bytes=2900)
    fitting.rounds = crawl.rounds
    done = fitting.index(every=True)
    assert done.documents == {"topic": 2, "jsonl": 2}
    assert done.report.counters["topic.cut"] == 1
