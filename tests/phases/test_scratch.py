"""Files between the steps of a job that was killed: `gc` deletes them, and so does the next job."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.gc.run import collect_garbage
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.snapshot import SCRATCH
from tests.phases.dedup.test_dedup import page
from tests.phases.dedup.test_dedup_near import add_texts
from tests.phases.kill_jobs import (
    build_webgraph,
    mark_duplicates,
    rank_by_domain,
    rank_hosts,
    rank_links,
    rank_trusted,
)
from tests.phases.killed import Moment, run_killed, writes_of
from tests.phases.linked_pages import add_parse
from tests.phases.made import make_crawldb

pytestmark = [pytest.mark.slow(seconds=15), pytest.mark.exhaustive]

Job = Callable[[str], None]
URLS = [f"http://h{n % 4}.x{n}.org/" for n in range(8)]
LINKS = {url: [URLS[(n + 1) % 8], URLS[(n + 3) % 8]] for n, url in enumerate(URLS)}


def scratch_files(directory: CrawlDir) -> list[str]:
    return [name for name in directory.folder.files() if f"/{SCRATCH}/" in name]


@pytest.mark.parametrize(
    ("job", "before"),
    [
        (partial(mark_duplicates, near="jaccard"), []),
        (rank_links, [build_webgraph]),
        (rank_trusted, [build_webgraph]),
        (rank_by_domain, [build_webgraph]),
        (rank_hosts, [build_webgraph]),
    ],
    ids=["dedup", "linkrank", "pagerank", "by domain", "hostgraph"],
)
def test_nothing_stays_of_a_job_that_was_killed(
    tmp_path: Path, job: Job, before: list[Job]
) -> None:
    base = make_crawldb(
        str(tmp_path / "base"), {url: page(bytes([n]) * 16) for n, url in enumerate(URLS)}
    )
    add_texts(base, dict.fromkeys(URLS, "the same words are on all of these pages, word by word"))
    add_parse(base, "20260102000000", LINKS, files=1)
    for each in before:
        each(base.address)
    for name in ("done", "wreck"):
        (tmp_path / f"{name}.denied").write_text(f"{URLS[5]}\n")
    done, wreck = CrawlDir(str(tmp_path / "done")), CrawlDir(str(tmp_path / "wreck"))
    shutil.copytree(base.address, done.address)
    writes = writes_of(job, done.address)
    assert scratch_files(done) == []
    kinds = [kind for kind in writes if kind.startswith("file ") and SCRATCH in kind]
    assert kinds, writes
    for moment in (Moment(kinds[0], 1), Moment(kinds[-1], writes[kinds[-1]])):
        for clean in (partial(collect_all, wreck), partial(job, wreck.address)):
            shutil.copytree(base.address, wreck.address)
            assert run_killed(job, wreck.address, at=moment)
            assert scratch_files(wreck) != []
            clean()
            assert scratch_files(wreck) == []
            shutil.rmtree(wreck.address)


def collect_all(directory: CrawlDir) -> None:
    collect_garbage(directory, Config(), SystemClock(), None, steal_lock=False)
