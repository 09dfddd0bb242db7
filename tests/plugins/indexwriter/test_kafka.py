"""The index writer kafka beside brokers in memory; a real one: phases/index/test_index_kafka.py."""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import ConfigError, EnvironmentFault, StorageError
from crawl.model.documents import FieldValue
from crawl.phases.index.tasks.writers import active_writers
from crawl.plugins.indexwriter.kafka import KafkaIndexWriter
from crawl.plugins.indexwriter.shared.message import encoded_within
from crawl.testing.indexwriter_contract import (
    A,
    B,
    C,
    IndexWriterContract,
    LocalShard,
    a_document,
)
from tests.free_port import LOOPBACK, free_port
from tests.plugins.indexwriter.kafka_topic import compacted, mock_brokers, records_of


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    with mock_brokers() as address:
        yield address


class TestKafka(IndexWriterContract):
    plugin_class = KafkaIndexWriter

    @pytest.fixture(autouse=True)
    def _topic(self, brokers: str, request: pytest.FixtureRequest) -> None:
        self.parameters = {"brokers": brokers, "topic": request.node.name}  # type: ignore[misc]

    def documents(self, folder: Path, name: str | None) -> dict[str, str]:
        assert name is None
        found = compacted(records_of(self.parameters["brokers"], self.parameters["topic"]))
        return {url: document["title"] for url, document in found.items()}


def _writer(brokers: str, topic: str, **parameters: Any) -> KafkaIndexWriter:
    return KafkaIndexWriter(Config(), {"brokers": brokers, "topic": topic, **parameters})


def test_a_message_is_a_document_and_a_tombstone_deletes(tmp_path: Path, brokers: str) -> None:
    shard = _writer(brokers, "messages").open(LocalShard(tmp_path))
    shard.add(a_document(A, "old", 1), replaces=False)
    shard.add(a_document(A, "new", 2), replaces=True)
    shard.delete(B, 3)
    assert shard.close() is None
    first, second, deleted = sorted(records_of(brokers, "messages"), key=lambda each: each.version)
    assert (first.key, second.key, deleted.key) == (A, A, B)
    assert first.value == {**a_document(A, "old", 1).fields, "version": 1}
    assert second.value is not None and second.value["version"] == 2
    assert deleted.value is None and deleted.headers == {"version": "3"}
    assert first.partition == second.partition


def test_pages_of_a_host_may_share_a_partition(tmp_path: Path, brokers: str) -> None:
    shard = _writer(brokers, "hosts", partition_by="host").open(LocalShard(tmp_path))
    urls = [f"http://h{host}.com/{page}" for host in range(12) for page in range(4)]
    for url in urls:
        shard.add(a_document(url), replaces=False)
    shard.close()
    of_host: dict[str, set[int]] = {}
    for record in records_of(brokers, "hosts"):
        of_host.setdefault(record.key.rpartition("/")[0], set()).add(record.partition)
    assert len(of_host) == 12 and all(len(each) == 1 for each in of_host.values())
    assert len(set.union(*of_host.values())) > 1


def test_a_page_that_is_too_long_is_cut_and_says_so(tmp_path: Path, brokers: str) -> None:
    shard = _writer(brokers, "long", max_message_bytes=20_000).open(LocalShard(tmp_path))
    document = a_document(A)
    document.fields["content"] = "日本\n" * 100_000
    document.fields["binaryContent"] = "QUJD" * 30_000
    shard.add(document, replaces=False)
    shard.add(a_document(B), replaces=False)
    shard.close()
    by_url = {record.key: record for record in records_of(brokers, "long")}
    found = by_url[A].value
    assert found is not None and "binaryContent" not in found
    assert found["title"] == "title" and 3_000 < len(found["content"]) < 20_000
    assert set(by_url[A].headers["cut"].split(",")) == {"content", "binaryContent"}
    assert "cut" not in by_url[B].headers


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.text(max_size=300) | st.integers() | st.lists(st.text(max_size=40), max_size=20),
        max_size=8,
    ),
    st.integers(700, 1500),
)
def test_what_is_cut_fits(fields: dict[str, FieldValue], limit: int) -> None:
    value, cut = encoded_within(fields, limit)
    assert len(value) <= limit
    found = json.loads(value)
    assert {name: each for name, each in fields.items() if name not in cut}.items() == {
        name: each for name, each in found.items() if name not in cut
    }.items()
    for name in cut:
        whole, part = fields[name], found.get(name, "")
        assert isinstance(whole, str | list) and (not part or whole[: len(part)] == part)


def test_more_than_the_queue_holds_waits_for_the_brokers(tmp_path: Path, brokers: str) -> None:
    settings = {"queue.buffering.max.ms": 5}
    writer = _writer(brokers, "many", queue_mb=1, max_message_bytes=20_000, properties=settings)
    shard = writer.open(LocalShard(tmp_path))
    urls = [f"http://a.com/{number}" for number in range(600)]
    for url in urls:
        document = a_document(url)
        document.fields["content"] = "x" * 9_000
        shard.add(document, replaces=False)
    shard.close()
    assert sorted(compacted(records_of(brokers, "many"))) == sorted(urls)


def test_brokers_that_are_not_there_are_one_line(tmp_path: Path) -> None:
    nobody = f"{LOOPBACK}:{free_port()}"
    writer = _writer(nobody, "t", connect_timeout=1, timeout=1)
    with pytest.raises(StorageError) as unreachable:
        writer.check()
    text = str(unreachable.value)
    assert text.startswith(f"Kafka at {nobody} cannot be reached: ") and "\n" not in text
    assert "refused" in text
    shard = writer.open(LocalShard(tmp_path))
    shard.add(a_document(A), replaces=False)
    with pytest.raises(StorageError, match="did not take documents for the topic 't'") as lost:
        shard.close()
    assert "\n" not in str(lost.value) and "refused" in str(lost.value)
    shard.abort()


@pytest.mark.parametrize("name", ["sasl.password", "ssl.key.pem", "sasl.oauthbearer.client.secret"])
def test_what_brokers_repeat_of_a_secret_is_not_told(brokers: str, name: str) -> None:
    writer = _writer(brokers, "t", properties={name: "correct-horse"})
    said = "SASL authentication error: Y29ycmVjdC1ob3JzZQ== correct-horse \x1b[31m"
    assert writer.mask.masked(said) == "SASL authentication error: *** *** \x1b[31m"
    wrong = _writer(
        brokers, "t", properties={"sasl.username": "x", name: "correct-horse", "no": "1"}
    )
    with pytest.raises(ConfigError) as fault:
        wrong.check()
    assert "correct-horse" not in str(fault.value)


def test_a_full_queue_before_dead_brokers_ends(tmp_path: Path) -> None:
    writer = _writer(f"{LOOPBACK}:{free_port()}", "t", timeout=1, queue_mb=1)
    shard = writer.open(LocalShard(tmp_path))
    document = a_document(A)
    document.fields["content"] = "x" * 900_000
    with pytest.raises(StorageError, match="did not take documents"):
        for _ in range(100):
            shard.add(document, replaces=False)
    shard.abort()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"topic": ""}, "topic: expected letters"),
        ({"topic": "a b"}, "topic: expected letters"),
        ({"brokers": []}, "brokers: there is none"),
        ({"partition_by": "page"}, "partition_by: expected url or host"),
        ({"compression": "zip"}, "compression: expected"),
        ({"timeout": "soon"}, "timeout: expected a number"),
        ({"queue_mb": 0}, "queue_mb: expected"),
        ({"properties": 3}, "properties: expected a table"),
        ({"properties": "a"}, "properties: expected NAME=VALUE"),
        ({"properties": {"a": [1]}}, "properties: a: expected a text"),
        ({"properties": {"acks": "1"}}, "acks is set"),
        ({"properties": {"bootstrap": {"servers": "x"}}}, "is the parameter 'brokers'"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        KafkaIndexWriter(Config(), {"topic": "t", **parameters})


def test_properties_reach_the_client(brokers: str) -> None:
    settings = {"security": {"protocol": "PLAINTEXT"}, "enable.random.seed": True}
    _writer(brokers, "t", properties=settings).check()
    _writer(brokers, "t", properties="security.protocol=plaintext,client.id=x").check()
    with pytest.raises(ConfigError, match='No such configuration property: "securty.protocol"'):
        _writer(brokers, "t", properties={"securty.protocol": "x"}).check()


def test_secrets_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "writers.toml"
    file.write_text(
        "[[writer]]\nid = 'kafka'\n[writer.parameters]\ntopic = 't'\n"
        "[writer.parameters.properties]\nsasl.password = '${KAFKA_PASSWORD}'\n"
    )
    config = Config.of({"index.writers": "kafka", "index.writers.file": str(file)})
    with pytest.raises(ConfigError, match="the environment has no variable KAFKA_PASSWORD"):
        active_writers(config)
    monkeypatch.setenv("KAFKA_PASSWORD", "hush")
    (spec,) = active_writers(config)
    writer = spec.build(config)
    assert isinstance(writer, KafkaIndexWriter)
    assert writer.settings["sasl.password"] == "hush"


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **others: Any) -> Any:
        if name == "confluent_kafka":
            raise ImportError(name)
        return real(name, *arguments, **others)

    writer = _writer("x", "t")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EnvironmentFault, match=r"needs confluent-kafka: pip install '.\[kafka\]'"):
        writer.check()


def test_the_last_of_a_key_is_what_a_compacted_topic_has(tmp_path: Path, brokers: str) -> None:
    writer = _writer(brokers, "twice")
    for _ in range(2):  # a job that died is repeated
        shard = writer.open(LocalShard(tmp_path))
        shard.delete(A, 2)
        shard.add(a_document(B, "new", 2), replaces=True)
        shard.add(a_document(C), replaces=False)
        shard.close()
    assert set(compacted(records_of(brokers, "twice"))) == {B, C}
