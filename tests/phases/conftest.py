"""What several files of tests share: a synthetic web and what a crawl of it on a local disk
gives, for crawls on other stores; and a web of sitemaps in memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawl.synthetic.web import Web, WebServer, running
from tests.phases.remote_crawls import SHAPE, State, crawled, state
from tests.phases.sitemap_web import WEBS, SitemapWeb


@pytest.fixture(scope="session")
def shaped_web() -> Iterator[WebServer]:
    with running(Web(SHAPE)) as server:
        yield server


@pytest.fixture(scope="session")
def shaped_seeds(tmp_path_factory: pytest.TempPathFactory, shaped_web: WebServer) -> str:
    file = tmp_path_factory.mktemp("seeds") / "seeds.txt"
    file.write_text("\n".join(shaped_web.web.seeds()))
    return str(file)


@pytest.fixture(scope="session")
def on_disk(
    tmp_path_factory: pytest.TempPathFactory, shaped_web: WebServer, shaped_seeds: str
) -> State:
    return state(crawled(str(tmp_path_factory.mktemp("disk")), shaped_seeds, shaped_web.web))


@pytest.fixture
def web(request: pytest.FixtureRequest) -> Iterator[SitemapWeb]:
    WEBS[request.node.name] = web = SitemapWeb({})
    yield web
    del WEBS[request.node.name]


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)
