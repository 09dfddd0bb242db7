"""index and clean with an index at a server, which has at once what it is sent: whatever a job that
died has told it is made good by the next one."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crawl.errors import ConfigError, StorageError
from crawl.model.status import Status
from crawl.phases.index.tasks.sent_notes import note_names
from crawl.storage.checking import check
from crawl.storage.folder import Folder
from tests.phases.indexed import GONE, IndexedCrawl, Page
from tests.phases.killed import Moment, run_killed, writes_of
from tests.plugins.indexwriter.fake_servers import FakeBulkServer, FakeServer, FakeSolr, Said

A, B, C, D = (f"http://{host}/" for host in ("a.com", "b.com", "c.com", "d.org"))
DENIED = Said(403, {"error": {"reason": "no more"}})
"""After which a job dies."""


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Folders of a crawl after one round, and after two: A and B are gone then, C has changed, D
    is new. Nothing is indexed."""
    base = tmp_path_factory.mktemp("rounds")
    crawl = IndexedCrawl(base)
    crawl.round({A: Page("alpha"), B: Page("beta"), C: Page("gamma")})
    shutil.copytree(base / "crawl", base / "one")
    crawl.round({A: GONE, B: GONE, C: Page("gamma two"), D: Page("delta")})
    return base / "one", base / "crawl"


@pytest.fixture(params=["opensearch", "solr"])
def either(request: pytest.FixtureRequest) -> Iterator[FakeServer]:
    fake: FakeServer = FakeBulkServer() if request.param == "opensearch" else FakeSolr()
    yield fake
    fake.stop()


@pytest.fixture
def bulk() -> Iterator[FakeBulkServer]:
    fake = FakeBulkServer()
    yield fake
    fake.stop()


class ServedCrawl(IndexedCrawl):
    """A crawl after its first round that a server indexes, a document a request."""

    def __init__(self, server: FakeServer, folder: Path, rounds: tuple[Path, Path]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, "server", index__writers__file=str(folder / "writers.toml"))
        self.server, self._rounds = server, rounds
        self.configure()
        shutil.copytree(rounds[0], self.address)

    def configure(self, more: str = "") -> None:
        is_solr = isinstance(self.server, FakeSolr)
        plugin = "solr" if is_solr else "opensearch"
        url = self.server.address + ("/solr/nutria" if is_solr else "")
        Path(str(self.settings["index.writers.file"])).write_text(
            f"[[writer]]\nid = 'server'\nplugin = '{plugin}'\n[writer.parameters]\nurl = '{url}'\n"
            f"batch_documents = 1\nretry_seconds = 5\n{more}"
        )

    def second_round(self) -> None:
        """Time goes on; the index stays as it is."""
        index = Path(self.address, "index")
        kept = index.rename(Path(self.address).parent / "kept") if index.exists() else None
        shutil.rmtree(self.address)
        shutil.copytree(self._rounds[1], self.address)
        if kept is not None:
            kept.rename(index)

    @property
    def notes(self) -> list[str]:
        return note_names(Folder(f"{self.address}/index/server"))

    @property
    def texts(self) -> dict[str, str]:
        return {each["url"]: each["content"] for each in self.server.documents.values()}

    def die(self, job: Callable[[], Any], after: int) -> None:
        """Has a job die after so many changes."""
        self.server.faults = [*([None] * after), DENIED]
        with pytest.raises(StorageError, match="no more"):
            job()
        self.server.faults = []


def test_rounds_at_a_server(either: FakeServer, tmp_path: Path, rounds: tuple[Path, Path]) -> None:
    crawl = ServedCrawl(either, tmp_path, rounds)
    done = crawl.index()
    assert done.documents == {"server": 3} and done.report.counters["server.added"] == 3
    assert crawl.texts == {A: "alpha", B: "beta", C: "gamma"} and not crawl.notes
    sent = len(either.asked)
    assert crawl.index(every=True).report.counters["server.unchanged"] == 3
    (commit,) = [each for each in either.asked[sent:] if either.changes(each)]
    assert A.encode() not in commit.body
    crawl.second_round()
    crawl.index(delete_gone=True)
    assert crawl.texts == {C: "gamma two", D: "delta"}
    crawl.set_records({C: Status.DB_DUPLICATE})
    assert crawl.clean().documents == {"server": 1}
    assert crawl.texts == {D: "delta"}


def test_what_only_a_dead_job_sent_is_deleted(
    either: FakeServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    for after in range(4):  # three documents and the commit
        either.forget()
        crawl = ServedCrawl(either, tmp_path / str(after), rounds)
        crawl.die(crawl.index, after)
        assert len(crawl.texts) == after and crawl.notes
        crawl.second_round()
        # it is not even asked to delete what is gone: but then it must know what is there
        assert crawl.index().documents["server"] >= 2
        assert not crawl.notes
        crawl.clean()
        assert crawl.texts == {C: "gamma two", D: "delta"}


def test_clean_deletes_what_only_a_dead_job_sent(
    bulk: FakeBulkServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    for after in range(3):  # two documents and the commit
        bulk.forget()
        crawl = ServedCrawl(bulk, tmp_path / str(after), rounds)
        crawl.index()
        crawl.second_round()
        crawl.die(crawl.index, after)
        crawl.set_records({C: Status.DB_FETCHED, D: None})
        assert crawl.clean().documents == {"server": 1}
        assert set(crawl.texts) == {C} and not crawl.notes


def test_a_dead_clean_does_not_hide_a_page_that_came_back(
    bulk: FakeBulkServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    crawl = ServedCrawl(bulk, tmp_path, rounds)
    crawl.index()
    crawl.set_records({A: Status.DB_DUPLICATE, B: Status.DB_DUPLICATE})
    crawl.die(crawl.clean, 1)
    assert len(crawl.texts) == 2
    # the CrawlDb is as it was, and so are the documents
    shutil.rmtree(Path(crawl.address, "crawldb"))
    shutil.copytree(rounds[0] / "crawldb", Path(crawl.address, "crawldb"))
    done = crawl.index(every=True)
    assert crawl.texts == {A: "alpha", B: "beta", C: "gamma"}
    assert done.report.counters["server.unchanged"] == 1


def test_a_damaged_note_is_told(
    bulk: FakeBulkServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    crawl = ServedCrawl(bulk, tmp_path, rounds)
    crawl.die(crawl.index, 1)
    assert not check(crawl.crawl_dir, deep=True).faults
    file = Path(crawl.address, "index", "server", crawl.notes[0])
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(
        StorageError, match="is no whole Parquet file.* delete it, and `crawl index --rebuild`"
    ):
        crawl.index()
    file.unlink()
    crawl.index(rebuild=True)
    assert set(crawl.texts) == {A, B, C} and not crawl.notes


def test_rebuild_deletes_what_is_no_longer_there(
    either: FakeServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    for after in range(5):
        either.forget()
        crawl = ServedCrawl(either, tmp_path / str(after), rounds)
        crawl.index()
        crawl.second_round()
        if after:  # two documents, two deletions
            crawl.die(partial(crawl.index, rebuild=True), after)
        assert crawl.index(rebuild=True).documents == {"server": 2}
        assert crawl.texts == {C: "gamma two", D: "delta"}


def test_rebuild_deletes_what_no_ledger_knows(
    either: FakeServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    crawl = ServedCrawl(either, tmp_path, rounds)
    crawl.index()
    crawl.second_round()
    shutil.rmtree(Path(crawl.address, "index"))
    assert crawl.index(rebuild=True, delete_gone=True).documents == {"server": 2}
    assert crawl.texts == {C: "gamma two", D: "delta"}


def test_an_index_that_was_thrown_away_is_told(
    bulk: FakeBulkServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    crawl = ServedCrawl(bulk, tmp_path, rounds)
    assert not crawl.index().remarks
    bulk.forget()
    (remark,) = crawl.index(every=True).remarks
    assert "the 3 documents that it should have are sent by `crawl index --rebuild`" in remark
    bulk.forget()
    assert not crawl.index(rebuild=True).remarks
    assert set(crawl.texts) == {A, B, C}


def test_refused_documents_are_told_and_sent_again(
    bulk: FakeBulkServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    crawl = ServedCrawl(bulk, tmp_path, rounds)
    bulk.item_faults[A] = [(400, "mapper_parsing_exception", "cannot \x1b[1m parse")]
    done = crawl.index()
    assert done.documents == {"server": 2} and set(crawl.texts) == {B, C}
    assert done.report.counters["server.rejected.mapper_parsing_exception"] == 1
    assert done.report.counters["server.added"] == 2
    (remark,) = done.remarks
    assert "server refused 1 document," in remark and A in remark and "\x1b" not in remark
    assert crawl.index(every=True).report.counters["server.added"] == 1
    crawl.second_round()
    bulk.item_faults[C] = [(400, "mapper_parsing_exception", "no")]
    assert crawl.index().documents == {"server": 4}
    assert crawl.texts[C] == "gamma"
    assert crawl.index(every=True).report.counters["server.updated"] == 1
    assert crawl.texts[C] == "gamma two"


def test_passwords_come_from_the_environment_and_stay_there(
    bulk: FakeBulkServer,
    tmp_path: Path,
    rounds: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crawl = ServedCrawl(bulk, tmp_path, rounds)
    crawl.configure("username = 'me'\npassword = '${INDEX_PASSWORD}'\n")
    with pytest.raises(ConfigError, match="the environment has no variable INDEX_PASSWORD"):
        crawl.index()
    monkeypatch.setenv("INDEX_PASSWORD", "geheim")
    crawl.index()
    assert bulk.asked[-1].headers["authorization"] == "Basic bWU6Z2VoZWlt"
    done = crawl.index(params={"password": "geheim"}, every=True)
    assert done.report.options["params"] == {"password": "***"}
    written = [path for path in Path(crawl.address).rglob("*") if path.is_file()]
    assert written and all(b"geheim" not in path.read_bytes() for path in written)


def _index(folder: str) -> None:
    file = str(Path(folder) / "writers.toml")
    IndexedCrawl(Path(folder), "server", index__writers__file=file).index(steal_lock=True)


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=20)
def test_a_kill_at_any_decisive_write(
    bulk: FakeBulkServer, tmp_path: Path, rounds: tuple[Path, Path]
) -> None:
    """Whatever was sent before the kill, a page that is gone by then leaves the server."""
    ServedCrawl(bulk, tmp_path / "whole", rounds)
    writes = writes_of(_index, str(tmp_path / "whole"))
    kinds = [kind for kind in sorted(writes) if "sent-" in kind or "CURRENT" in kind]
    assert {kind.partition(" ")[0] for kind in kinds} >= {"file", "write", "delete"}, writes
    for number, kind in enumerate(kinds):
        bulk.forget()
        crawl = ServedCrawl(bulk, tmp_path / str(number), rounds)
        assert run_killed(_index, str(tmp_path / str(number)), at=Moment(kind, 1))
        crawl.second_round()
        crawl.index(steal_lock=True)
        crawl.clean()
        assert crawl.texts == {C: "gamma two", D: "delta"}, kind
        assert not crawl.notes
