"""Writers for servers, against a real Solr and a real OpenSearch, which are killed on the way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.model.status import Status
from crawl.plugins.indexwriter.opensearch import OpenSearchIndexWriter
from crawl.plugins.indexwriter.solr import SolrIndexWriter
from crawl.testing.indexwriter_contract import A, B, LocalShard, a_document
from tests.phases.indexed import GONE, IndexedCrawl, Page
from tests.plugins.indexwriter.real_servers import (
    RealOpenSearch,
    RealServer,
    RealSolr,
    running,
)
from tests.plugins.indexwriter.server_contract import ServerContract
from tests.storage import faulty_proxy
from tests.storage.faulty_proxy import Fault, ProxiedRequest, SeededFaults

pytestmark = [pytest.mark.cluster, pytest.mark.slow(seconds=90)]


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[RealSolr, RealOpenSearch]]:
    with running() as both:
        yield both


@pytest.fixture
def solr(servers: tuple[RealSolr, RealOpenSearch]) -> RealSolr:
    servers[0].empty()
    return servers[0]


@pytest.fixture
def opensearch(servers: tuple[RealSolr, RealOpenSearch]) -> RealOpenSearch:
    servers[1].empty()
    return servers[1]


class _Real(ServerContract):
    server: RealSolr | RealOpenSearch

    def titles(self) -> dict[str, str]:
        return {url: each["title"] for url, each in self.server.documents().items()}


class TestSolr(_Real):
    plugin_class = SolrIndexWriter

    @pytest.fixture
    def server_parameters(self, solr: RealSolr) -> dict[str, Any]:
        self.server = solr
        return solr.parameters


class TestOpenSearch(_Real):
    plugin_class = OpenSearchIndexWriter

    @pytest.fixture
    def server_parameters(self, opensearch: RealOpenSearch) -> dict[str, Any]:
        self.server = opensearch
        return {**opensearch.parameters, "gzip": True}


@pytest.fixture(params=["solr", "opensearch"])
def either(request: pytest.FixtureRequest) -> RealSolr | RealOpenSearch:
    found: RealSolr | RealOpenSearch = request.getfixturevalue(request.param)
    return found


def test_one_that_does_not_fit_is_refused_alone(
    either: RealSolr | RealOpenSearch, tmp_path: Path
) -> None:
    if isinstance(either, RealOpenSearch):
        strict = {"properties": {"contentLength": {"type": "long"}}}
        either.ask("PUT", "/pages", {"mappings": strict})
    kind = SolrIndexWriter if isinstance(either, RealSolr) else OpenSearchIndexWriter
    shard = kind(Config(), either.parameters).open(LocalShard(tmp_path))
    wrong = a_document(A)
    wrong.fields["contentLength"] = "many"
    shard.add(wrong, replaces=False)
    shard.add(a_document(B), replaces=False)
    done = shard.flush()
    shard.close()
    assert list(done.refused) == [A] and done.counts["rejected"] == 1
    assert "contentLength" in done.refused[A]
    assert set(either.documents()) == {B}


PAGES = {f"http://h{number}.com/": Page(f"text{number}") for number in range(12)}


class KilledAt:
    """Kills a server at a request that changes documents, has it start again, and breaks some
    connections beside it."""

    def __init__(self, server: RealServer, number: int, path: str) -> None:
        self._server = server
        self._left = number
        self._path = path
        self._faults = SeededFaults(7, 0.2)

    def __call__(self, request: ProxiedRequest) -> Fault | None:
        if self._path in request.path:
            self._left -= 1
            if self._left == 0:
                self._server.kill()
                self._server.start()
                return Fault.RESET
        return self._faults(request)


def test_a_server_that_is_killed_loses_nothing(
    either: RealSolr | RealOpenSearch, tmp_path: Path
) -> None:
    """It dies in the middle of the job, which waits for it; indexing twice changes nothing;
    clean removes."""
    is_solr = isinstance(either, RealSolr)
    plan = KilledAt(either, 4, "/update" if is_solr else "/_bulk")
    with faulty_proxy.running("127.0.0.1", either.port, plan) as proxy:
        parameters = {
            **either.parameters,
            "url": proxy.address + ("/solr/nutria" if is_solr else ""),
            "batch_documents": 2,
            "retry_seconds": 300,
        }
        file = tmp_path / "writers.toml"
        lines = "\n".join(f"{name} = {value!r}" for name, value in parameters.items())
        file.write_text(
            f"[[writer]]\nid = 'server'\nplugin = '{'solr' if is_solr else 'opensearch'}'\n"
            f"[writer.parameters]\n{lines}\n"
        )
        crawl = IndexedCrawl(tmp_path, "server", index__writers__file=str(file))
        crawl.round(PAGES)
        done = crawl.index()
        assert done.report.counters["server.retries"] > 0
        assert done.documents == {"server": len(PAGES)}
        found = either.documents()
        assert {url: each["content"] for url, each in found.items()} == {
            url: page.text for url, page in PAGES.items()
        }
        again = crawl.index(every=True)
        assert again.report.counters["server.unchanged"] == len(PAGES)
        crawl.index(rebuild=True)
        assert set(either.documents()) == set(PAGES)
        urls = sorted(PAGES)
        crawl.round({urls[0]: GONE, urls[1]: Page("new text")})
        crawl.set_records({urls[2]: Status.DB_DUPLICATE})
        crawl.index(delete_gone=True)
        crawl.clean()
        left = either.documents()
        assert set(left) == set(urls[1:2] + urls[3:])
        assert left[urls[1]]["content"] == "new text"
