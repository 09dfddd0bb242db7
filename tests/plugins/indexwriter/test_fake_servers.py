"""Writers for servers, against servers of ours that go wrong in every way.

Elasticsearch is tried nowhere else: its bulk API is as published.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from crawl.config import Config
from crawl.errors import ConfigError, StorageError
from crawl.interfaces.indexwriter import IndexWriter
from crawl.plugins.indexwriter.elasticsearch import ElasticsearchIndexWriter
from crawl.plugins.indexwriter.opensearch import OpenSearchIndexWriter
from crawl.plugins.indexwriter.shared import http_server
from crawl.plugins.indexwriter.solr import SolrIndexWriter
from crawl.testing.indexwriter_contract import A, B, C, LocalShard, a_document
from tests.plugins.indexwriter.fake_servers import (
    Asked,
    FakeBulkServer,
    FakeServer,
    FakeSolr,
    Said,
)
from tests.plugins.indexwriter.server_contract import ServerContract
from tests.plugins.protocol.certificates import server_context, write_certificate


@pytest.fixture
def bulk() -> Iterator[FakeBulkServer]:
    fake = FakeBulkServer()
    yield fake
    fake.stop()


@pytest.fixture
def solr() -> Iterator[FakeSolr]:
    fake = FakeSolr()
    yield fake
    fake.stop()


class _Bulk(ServerContract):
    fake: FakeBulkServer

    @pytest.fixture
    def server_parameters(self, bulk: FakeBulkServer) -> dict[str, Any]:
        self.fake = bulk
        return {"url": bulk.address, "index": "pages", "batch_documents": 2}

    def titles(self) -> dict[str, str]:
        return self.fake.titles()


class TestOpenSearch(_Bulk):
    plugin_class = OpenSearchIndexWriter


class TestElasticsearch(_Bulk):
    plugin_class = ElasticsearchIndexWriter


class TestSolr(ServerContract):
    plugin_class = SolrIndexWriter
    fake: FakeSolr

    @pytest.fixture
    def server_parameters(self, solr: FakeSolr) -> dict[str, Any]:
        self.fake = solr
        return {"url": f"{solr.address}/solr/nutria"}

    def titles(self) -> dict[str, str]:
        return self.fake.titles()


@pytest.fixture(params=["opensearch", "solr"])
def either(request: pytest.FixtureRequest) -> Iterator[FakeServer]:
    """A server of either kind."""
    fake: FakeServer = FakeBulkServer() if request.param == "opensearch" else FakeSolr()
    yield fake
    fake.stop()


def _writer(*fakes: FakeServer, **parameters: Any) -> IndexWriter:
    given = {"retry_seconds": 20, **parameters}
    if isinstance(fakes[0], FakeSolr):
        return SolrIndexWriter(
            Config(), {"url": [f"{each.address}/solr/nutria" for each in fakes]} | given
        )
    return OpenSearchIndexWriter(Config(), {"url": [each.address for each in fakes]} | given)


def _fill(writer: IndexWriter, folder: Path, *titles: str) -> Any:
    """Sends a document for every title; what became of them."""
    shard: Any = writer.open(LocalShard(folder))
    try:
        for url, title in zip((A, B, C), titles, strict=False):
            shard.add(a_document(url, title, 1), replaces=False)
        return shard.flush()
    finally:
        shard.abort()


CUT = Said(0, raw=b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{")


@pytest.mark.parametrize(
    "fault",
    [
        Said(429, {"error": "busy"}, {"Retry-After": "0"}),
        Said(503),
        Said(500, b"<html>"),
        Said(0, raw=b""),
        CUT,
        Said(0, raw=b"", after=True),
    ],
    ids=["429", "503", "500", "no answer", "cut answer", "lost answer"],
)
def test_a_passing_fault_costs_a_retry(either: FakeServer, fault: Said, tmp_path: Path) -> None:
    either.faults = [fault, fault]
    done = _fill(_writer(either), tmp_path, "a", "b", "c")
    assert either.titles() == {A: "a", B: "b", C: "c"}
    assert done.counts.keys() == {"retries"} and not done.refused


def test_one_that_is_away_is_told_in_one_line(either: FakeServer, tmp_path: Path) -> None:
    either.faults = [Said(503, {"error": "\x1b]0;gone\x07 " + "x" * 5000})] * 50
    with pytest.raises(StorageError, match="cannot be written to: 503") as fault:
        _fill(_writer(either, retry_seconds=0.5), tmp_path, "a")
    line = str(fault.value)
    assert either.address in line and "\x1b" not in line and len(line) < 600


def test_nobody_listens(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    for kind in (OpenSearchIndexWriter, SolrIndexWriter):
        writer = kind(Config(), {"url": f"http://127.0.0.1:{port}/x", "retry_seconds": 0.3})
        with pytest.raises(StorageError, match=f"127.0.0.1:{port}/x cannot be written to"):
            writer.check()


def test_a_longer_wait_than_we_have_is_not_begun(either: FakeServer, tmp_path: Path) -> None:
    either.faults = [Said(429, {"error": "busy"}, {"Retry-After": "3600"})]
    with pytest.raises(StorageError, match="given up after 20 s"):
        _fill(_writer(either), tmp_path, "a")


def test_another_address_takes_over(either: FakeServer, tmp_path: Path) -> None:
    dead = type(either)()
    dead.stop()
    done = _fill(_writer(dead, either), tmp_path, "a", "b")
    assert either.titles() == {A: "a", B: "b"} and "retries" not in done.counts


def test_who_we_are_is_sent_and_never_shown(either: FakeServer, tmp_path: Path) -> None:
    either.faults = [Said(401, {"error": {"reason": "who?"}})]
    writer = _writer(either, username="me", password="geheim")
    with pytest.raises(StorageError, match="does not let us in: 401") as fault:
        _fill(writer, tmp_path, "a")
    assert "geheim" not in str(fault.value) and "bWU6" not in str(fault.value)
    assert either.asked[-1].headers["authorization"] == "Basic bWU6Z2VoZWlt"
    _fill(_writer(either, api_key="abc=="), tmp_path, "a")
    assert either.asked[-1].headers["authorization"] == "ApiKey abc=="
    assert "geheim" not in repr(vars(writer))


@pytest.mark.parametrize(
    "body", [b"", b"fine", b"[]", b"{}", b'{"items":[{"index":{}}]}', b"[" * 5000]
)
def test_a_malformed_answer_is_told(either: FakeServer, body: bytes, tmp_path: Path) -> None:
    either.faults = [Said(200, body, after=True)]
    with pytest.raises(StorageError, match="does not answer as expected"):
        _fill(_writer(either), tmp_path, "a")


def test_an_endless_answer_is_not_read(
    either: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "_MAX_BYTES", 1 << 20)
    either.faults = [Said(200, b"{" * (2 << 20))]
    with pytest.raises(StorageError, match="longer than 1 MiB"):
        _fill(_writer(either), tmp_path, "a")


def test_one_refused_document_does_not_stop_the_others(either: FakeServer, tmp_path: Path) -> None:
    titles = ["a", "unwanted", "c"]
    if isinstance(either, FakeBulkServer):
        either.item_faults[B] = [(400, "mapper_parsing_exception", "\x1b[31mbad")] * 2
    done = _fill(_writer(either), tmp_path, *titles)
    assert either.titles() == {A: "a", C: "c"}
    assert list(done.refused) == [B] and "\x1b" not in done.refused[B]
    assert done.counts["rejected"] == 1
    with pytest.raises(StorageError, match="refuses documents: .*bad; given up after 1 of a shard"):
        _fill(_writer(either, max_rejected=0), tmp_path, *titles)


def test_half_a_bulk_is_sent_again(bulk: FakeBulkServer, tmp_path: Path) -> None:
    bulk.item_faults = {
        A: [(429, "rejected_execution_exception", "queue is full")] * 2,
        C: [(503, "unavailable_shards_exception", "primary is away")],
    }
    done = _fill(_writer(bulk, gzip=True), tmp_path, "a", "b", "c")
    assert bulk.titles() == {A: "a", B: "b", C: "c"} and done.counts == {"retries": 2}
    sizes = [len(each.body) for each in bulk.asked if "_bulk" in each.path]
    assert len(sizes) == 3 and sizes == sorted(sizes, reverse=True)
    bulk.item_faults = {A: [(429, "es_rejected_execution_exception", "queue is full")] * 99}
    with pytest.raises(StorageError, match="cannot be written to: 429 queue is full"):
        _fill(_writer(bulk, retry_seconds=0.5), tmp_path, "a", "b")
    bulk.item_faults = {A: [(403, "cluster_block_exception", "index is read-only")]}
    with pytest.raises(StorageError, match="takes no documents: 403 index is read-only"):
        _fill(_writer(bulk), tmp_path, "a")


def test_what_is_too_much_is_halved(either: FakeServer, tmp_path: Path) -> None:
    either.faults = [Said(413, b"too much"), Said(413, b"too much"), None, None]
    _fill(_writer(either), tmp_path, "a", "b", "c")
    assert either.titles().keys() >= {B, C}


def test_batches_are_bounded(bulk: FakeBulkServer, tmp_path: Path) -> None:
    _fill(_writer(bulk, batch_documents=2), tmp_path, "a", "b", "c")
    _fill(_writer(bulk, batch_bytes=300), tmp_path, "a", "b", "c")
    sizes = [each.body.count(b'"index"') for each in bulk.asked if "_bulk" in each.path]
    assert sizes == [2, 1, 1, 1, 1]


def test_an_index_is_made_if_there_is_none(bulk: FakeBulkServer, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="has no index nutria"):
        _writer(bulk, create_index=False).check()
    _writer(bulk).check()
    assert bulk.indexes["nutria"]["mappings"]["properties"]["content"] == {"type": "text"}
    own = tmp_path / "mapping.json"
    own.write_text('{"mappings": {"dynamic": "strict"}}')
    _writer(bulk, index="own", mapping=str(own)).check()
    assert bulk.indexes["own"] == {"mappings": {"dynamic": "strict"}}


def test_a_certificate_must_be_good(bulk: FakeBulkServer, tmp_path: Path) -> None:
    bulk.secure(server_context(tmp_path))
    ours = str(write_certificate(tmp_path))  # of another host
    for more in ({}, {"ca_file": ours}):
        with pytest.raises(StorageError, match=f"{bulk.address}: .*SSL"):
            _writer(bulk, **more).check()
    _fill(_writer(bulk, verify=False), tmp_path, "a")
    assert bulk.titles() == {A: "a"}


def test_solr_is_asked_again_when_another_was_in_between(solr: FakeSolr, tmp_path: Path) -> None:
    solr.between = lambda: solr.put({"id": A, "url": A, "title": "other", "version_l": 0})
    assert not _fill(_writer(solr), tmp_path, "a", "b").counts
    assert solr.titles() == {A: "a", B: "b"}
    solr.between = lambda: solr.put({"id": A, "url": A, "title": "newer", "version_l": 9})
    assert _fill(_writer(solr), tmp_path, "x").counts == {"version_conflicts": 1}
    assert solr.titles()[A] == "newer"
    _fill(_writer(solr, version_field=""), tmp_path, "last")
    assert solr.titles()[A] == "last"


def test_solr_without_a_field_for_versions(solr: FakeSolr) -> None:
    with pytest.raises(StorageError, match="its schema has no field stamp"):
        _writer(solr, version_field="stamp").check()
    with pytest.raises(StorageError, match="its unique key is id, not url"):
        _writer(solr, id_field="url").check()
    with pytest.raises(StorageError, match="is no collection of Solr: 404"):
        SolrIndexWriter(Config(), {"url": f"{solr.address}/solr/other"}).check()


@pytest.mark.parametrize(
    "parameters",
    [
        {"url": "localhost:9200"},
        {"url": "http://me:geheim@h:9200"},
        {"url": "http://h:99999"},
        {"url": []},
        {"index": "Pages/x"},
        {"password": "geheim"},
        {"password": 123},
        {"api_key": "x", "username": "y"},
        {"api_key": "geheim\nx"},
        {"ca_file": "/nowhere"},
        {"mapping": "/nowhere"},
        {"batch_bytes": 0},
        {"retry_seconds": -1},
    ],
)
def test_wrong_parameters(parameters: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(parameters))) as fault:
        OpenSearchIndexWriter(Config(), parameters)
    assert "geheim" not in str(fault.value) and "123" not in str(fault.value)


_PASSWORD = "correct-horse"


def _echoes(asked: Asked) -> dict[str, Any]:
    """What a server may repeat of a request."""
    login = asked.headers.get("authorization", "")
    return {
        "type": _PASSWORD.replace("-", "_"),
        "reason": f"cannot authenticate [Authorization: {login}] {login.upper()} http://me:"
        f"{_PASSWORD}@here/ {quote(login, safe='')} {_PASSWORD.encode().hex()} \x1b[31m",
    }


def _assert_told_without_secrets(told: str) -> None:
    assert "***" in told and "\x1b" not in told
    for secret in (_PASSWORD, "Y29ycmVjdC", "bWU6", _PASSWORD.encode().hex(), "Y29ycmVjdC1ob3JzZQ"):
        assert secret.lower() not in told.lower()


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 418, 503])
@pytest.mark.parametrize("login", [("username", "password"), ("api_key",)])
def test_an_echo_of_who_we_are_is_not_told(
    either: FakeServer, tmp_path: Path, status: int, login: tuple[str, ...]
) -> None:
    given = dict(zip(login, ("me", _PASSWORD), strict=True) if len(login) > 1 else [])
    writer = _writer(either, retry_seconds=0, **(given or {"api_key": _PASSWORD}))
    either.answer = lambda asked: Said(status, {"error": _echoes(asked)})  # type: ignore[method-assign]
    told = ""
    try:
        told = str(_fill(writer, tmp_path, "a"))
    except StorageError as fault:
        told = str(fault)
    _assert_told_without_secrets(told)


def test_an_echo_in_an_answer_that_is_no_json_is_not_told(
    either: FakeServer, tmp_path: Path
) -> None:
    writer = _writer(either, username="me", password=_PASSWORD)
    either.answer = lambda asked: Said(401, json.dumps(_echoes(asked)).encode() * 400)  # type: ignore[method-assign]
    with pytest.raises(StorageError) as fault:
        _fill(writer, tmp_path, "a")
    _assert_told_without_secrets(str(fault.value))


def test_an_echo_about_a_document_is_not_told(bulk: FakeBulkServer, tmp_path: Path) -> None:
    echo = "cannot be parsed: Basic bWU6Y29ycmVjdC1ob3JzZQ== is no date"
    bulk.item_faults = {A: [(400, "bwu6y29ycmvjdc1ob3jzzq", echo)]}
    done = _fill(_writer(bulk, username="me", password=_PASSWORD), tmp_path, "a")
    _assert_told_without_secrets(str(done))
    assert done.counts["rejected.other"] == 1
