"""kill -9 at the writes of webgraph, linkrank, hostgraph and scoreupdater."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crawl.model.derived_tables import WEBGRAPH
from crawl.phases.hostgraph.run import table_of
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.host_graphs import rows_of
from tests.phases.kill_jobs import (
    build_webgraph,
    rank_by_domain,
    rank_domains,
    rank_hosts,
    rank_links,
    rank_trusted,
    update_scores,
)
from tests.phases.killed import moments, run_killed, writes_of
from tests.phases.linked_pages import add_parse, graph_of, links_of
from tests.phases.linkrank.test_linkrank import scores_of
from tests.phases.made import datum, make_crawldb, records_of

pytestmark = [pytest.mark.slow(seconds=20), pytest.mark.exhaustive]

URLS = [f"http://h{n % 4}.x{n}.org/" for n in range(8)]
FIRST = {url: [URLS[(n + 1) % 8], URLS[(n + 3) % 8]] for n, url in enumerate(URLS[:4])}
SECOND = {url: [URLS[(n + 2) % 8]] for n, url in enumerate(URLS[2:6])}


def state_of(directory: CrawlDir) -> dict[str, Any]:
    graph = graph_of(directory)
    return {
        "links": links_of(graph),
        "scores": scores_of(directory) if graph.has_scores else None,
        "segments": sorted(directory.dataset(WEBGRAPH).require_current().applied),
        "hosts": hosts_of(directory, NodeGroup.HOST),
        "domains": hosts_of(directory, NodeGroup.DOMAIN),
        "records": {url: record.score for url, record in records_of(directory).items()},
    }


def hosts_of(directory: CrawlDir, group: NodeGroup) -> list[dict[str, Any]]:
    if directory.dataset(table_of(group)).current() is None:
        return []
    return rows_of(directory, group)


def prepared(address: str, jobs: list[Callable[[str], None]]) -> CrawlDir:
    directory = make_crawldb(address, {url: datum() for url in URLS}, buckets=2)
    add_parse(directory, "20260101000000", FIRST, files=1)
    build_webgraph(address)
    add_parse(directory, "20260102000000", SECOND, files=1)
    for job in jobs:
        job(address)
    return directory


@pytest.mark.parametrize(
    ("job", "before"),
    [
        (build_webgraph, []),
        (rank_links, [build_webgraph]),
        (rank_trusted, [build_webgraph]),
        (rank_by_domain, [build_webgraph]),
        (rank_hosts, [rank_hosts, build_webgraph]),
        (rank_domains, [rank_domains, build_webgraph]),
        (update_scores, [build_webgraph, rank_links]),
    ],
)
def test_it_is_done_wholly_or_not_at_all(
    tmp_path: Path, job: Callable[[str], None], before: list[Callable[[str], None]]
) -> None:
    base = tmp_path / "base"
    for name in ("base", "done", "wreck"):
        (tmp_path / f"{name}.denied").write_text(f"{URLS[5]}\n")
    old = state_of(prepared(str(base), before))
    done = tmp_path / "done"
    shutil.copytree(base, done)
    writes = writes_of(job, str(done))
    new = state_of(CrawlDir(str(done)))
    assert new != old
    deaths = 0
    for moment in moments(writes, seed=3):
        if "scratch" in moment.kind and moment.number > 1:
            continue  # nobody reads what a dead job left there
        wreck = CrawlDir(str(tmp_path / "wreck"))
        shutil.copytree(base, wreck.address)
        deaths += run_killed(job, wreck.address, at=moment)
        found = state_of(wreck)
        assert found in (old, new), moment
        if found == old:
            job(wreck.address)
            assert state_of(wreck) == new, moment
        assert not check(wreck).faults
        shutil.rmtree(wreck.address)
    assert deaths >= 8
