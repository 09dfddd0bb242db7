"""The phases on a file system without folders, renames or local paths."""

from __future__ import annotations

import uuid
from pathlib import Path

from crawl.config import Config
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.readers.readdb import run as readdb
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW, datum, make_segment, records_of, urls_of


def test_a_round_in_memory(tmp_path: Path) -> None:
    directory = CrawlDir(f"memory://{uuid.uuid4().hex}/crawl")
    seeds = tmp_path / "seeds.txt"
    urls = [f"http://h{n % 6}.org/p{n}" for n in range(60)]
    seeds.write_text("\n".join(urls))
    clock = ManualClock(NOW)
    config = Config.of({"generate.update.crawldb": True, "generate.max.count": 4})
    for _ in range(2):
        inject.run(InProcess(2), directory, config, InjectOptions((str(seeds),)), clock)
    assert records_of(directory).keys() == set(urls)

    options = GenerateOptions(top_n=20, num_fetchers=3, max_num_segments=2)
    done = generate.run(InProcess(2), directory, config, options, clock, resolver=lambda host: None)
    taken = urls_of(directory, done.segments)
    assert len(taken) == len(set(taken)) == 40
    snapshot = directory.require_crawldb()
    assert readdb.stats(InProcess(), directory, snapshot, by_host=True).urls == 60
    assert [entry.score for entry in readdb.top(InProcess(), directory, snapshot, 3, 0)] == [
        1.0
    ] * 3

    fetched = [(url, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)) for url in urls[:30]]
    links = [(f"http://new{n}.org/", datum(status=Status.LINKED)) for n in range(10)]
    make_segment(directory, "20990101000000", fetched, links)
    chosen = UpdateDbOptions(normalize=True)
    updatedb.run(InProcess(2), directory, config, chosen, clock)
    after = records_of(directory)
    assert len(after) == 70
    assert sum(record.status is Status.DB_FETCHED for record in after.values()) == 30
    assert not directory.crawldb.folder.exists("LOCK")
