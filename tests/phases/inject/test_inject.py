from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.driver.crawldb_writer import CrawlDbUpdate
from crawl.errors import ConfigError, NothingToDo, PluginError, StorageError, UsageError
from crawl.model.datum import FIXED_INTERVAL_KEY, CrawlDatum
from crawl.model.status import Status
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.examples import scaled
from tests.phases.made import DAY, NOW, datum, make_crawldb, records_of

OPEN = {"urlfilter.regex.file": "open.txt", "urlfilter.order": "regex"}


class Crawl:
    """A crawl in a temporary folder, and seeds for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.directory = CrawlDir(str(folder / "crawl"))

    def seeds(self, *lines: str | bytes, name: str = "seeds.txt") -> str:
        path = self.folder / name
        raw = [line.encode() if isinstance(line, str) else line for line in lines]
        path.write_bytes(b"".join(line + b"\n" for line in raw))
        return str(path)

    def inject(
        self,
        *lines: str | bytes,
        settings: dict[str, object] | None = None,
        files: dict[str, str] | None = None,
        now: int = NOW,
        **options: Any,
    ) -> CrawlDbUpdate:
        config = Config.of({**OPEN, **(settings or {})}, {"open.txt": "+.", **(files or {})})
        chosen = InjectOptions((self.seeds(*lines),), **options)
        return inject.run(InProcess(), self.directory, config, chosen, ManualClock(now))

    @property
    def records(self) -> dict[str, CrawlDatum]:
        return records_of(self.directory)


@pytest.fixture
def crawl(tmp_path: Path) -> Crawl:
    return Crawl(tmp_path)


def seed(**changes: Any) -> CrawlDatum:
    return datum(**{"fetch_time": NOW, **changes})


def test_a_seed_becomes_a_due_record(crawl: Crawl) -> None:
    done = crawl.inject("http://Example.org:80/a/../b", "", "# http://comment.org/")
    assert crawl.records == {"http://example.org/b": seed()}
    assert (done.snapshot.number, done.snapshot.rows) == (1, 1)
    assert done.report.counters["seed_lines"] == 1
    assert done.report.counters["urls_new"] == 1


def test_a_seed_line_may_say_more(crawl: Crawl) -> None:
    crawl.inject(
        "http://a.org/\tnutch.score=2.5\tnutch.fetchInterval=60\tlang=en",
        "http://b.org/\tnutch.fetchInterval.fixed=30",
        "http://c.org/\tnutch.score=high\tnonsense",
    )
    assert crawl.records == {
        "http://a.org/": seed(score=2.5, fetch_interval=60, metadata={"lang": "en"}),
        "http://b.org/": seed(fetch_interval=30, metadata={FIXED_INTERVAL_KEY: "30"}),
        "http://c.org/": seed(),
    }


def test_a_token_that_cannot_be_read_is_counted(crawl: Crawl) -> None:
    done = crawl.inject("http://c.org/\tnutch.score=high\tnonsense")
    assert done.report.counters["metadata_ignored"] == 2
    assert done.report.samples["metadata_ignored"] == [
        "nutch.score=high of http://c.org/",
        "nonsense of http://c.org/",
    ]


BAD = [
    ("javascript:alert(1)", "scheme_not_crawled"),
    ("mailto:a@b.org", "scheme_not_crawled"),
    ("www.example.org/", "no_scheme"),
    ("example.org:8080/x", "no_scheme"),
    ("http://", "not_a_url"),
    ("http://[::1", "not_a_url"),
    (b"http://\xff.org/", "not_utf8"),
    (b"\x00\x01\x02PNG", "control_characters"),
    (b"http://long.org/" + b"x" * 70_000, "line_too_long"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_bad_seed_is_counted_by_reason(crawl: Crawl, line: str | bytes, reason: str) -> None:
    done = crawl.inject(line, "http://good.org/")
    assert done.report.counters[f"malformed.{reason}"] == 1
    assert done.report.counters["seed_lines"] == 2
    assert len(done.report.samples[f"malformed.{reason}"]) == 1
    assert list(crawl.records) == ["http://good.org/"]


def test_unusual_seeds_are_good_ones(crawl: Crawl) -> None:
    crawl.inject(
        "http://bücher.example/straße",
        "http://[2001:DB8::1]:8080/x",
        "https://user:secret@example.org/private",
        "ftp://files.example.org/pub",
        "file:///srv/pages/index.html",
        "  http://blanks.org/  ",
        "http://crlf.org/\r",
    )
    assert sorted(crawl.records) == [
        "file:///srv/pages/index.html",
        "ftp://files.example.org/pub",
        "http://[2001:db8::1]:8080/x",
        "http://blanks.org/",
        "http://crlf.org/",
        "http://xn--bcher-kva.example/stra%C3%9Fe",
        "https://example.org/private",
    ]


def test_a_binary_file_and_a_megabyte_line_are_no_fault(crawl: Crawl) -> None:
    binary = bytes(range(256)) * 2000
    done = crawl.inject(binary, b"x" * 1_000_000, "http://good.org/")
    assert list(crawl.records) == ["http://good.org/"]
    counters = done.report.counters
    malformed = sum(n for name, n in counters.items() if name.startswith("malformed."))
    assert malformed == counters["seed_lines"] - 1 > 0
    for samples in done.report.samples.values():
        assert all(text.isprintable() and len(text) < 300 for text in samples)


def test_filters_reject_and_say_so(crawl: Crawl) -> None:
    files = {"open.txt": "-\\.gif$\n+."}
    done = crawl.inject("http://a.org/x.gif", "http://a.org/", files=files)
    assert list(crawl.records) == ["http://a.org/"]
    assert done.report.counters["urls_filtered"] == 1
    assert done.report.counters["url_filters_rejected.regex"] == 1
    assert done.report.samples["urls_filtered"][0].startswith("http://a.org/x.gif (regex: ")
    crawl.inject("http://a.org/x.gif", files=files, filter=False)
    assert "http://a.org/x.gif" in crawl.records


def test_no_normalize_takes_urls_as_written(crawl: Crawl) -> None:
    crawl.inject("http://a.org/x/../y#z", "no url", normalize=False)
    assert list(crawl.records) == ["http://a.org/x/../y#z"]


def test_of_two_seeds_for_one_url_the_last_wins(crawl: Crawl) -> None:
    done = crawl.inject("http://a.org/\tn=1", "http://a.org\tn=2", "http://a.org/#x\tn=3")
    assert crawl.records["http://a.org/"].metadata == {"n": "3"}
    counters = done.report.counters
    assert (counters["urls_injected"], counters["urls_injected_unique"]) == (3, 1)
    assert (counters["urls_repeated_in_seeds"], counters["urls_new"]) == (2, 1)


OLD = datum(
    status=Status.DB_FETCHED,
    fetch_time=NOW + DAY,
    score=0.25,
    fetch_interval=99,
    signature=b"s",
    metadata={"a": "old", "b": "old"},
)
LINE = "http://a.org/\tnutch.score=3\tnutch.fetchInterval=7\tb=new\tc=new"
NEW = seed(score=3.0, fetch_interval=7, metadata={"b": "new", "c": "new"})


@pytest.mark.parametrize(
    ("line", "options", "expected"),
    [
        (LINE, {}, OLD),
        (LINE, {"overwrite": True}, NEW),
        (
            LINE,
            {"update": True},
            datum(
                status=Status.DB_FETCHED,
                fetch_time=NOW + DAY,
                score=3.0,
                fetch_interval=7,
                signature=b"s",
                metadata={"a": "old", "b": "new", "c": "new"},
            ),
        ),
        ("http://a.org/", {"update": True}, OLD),
    ],
)
def test_a_known_url(
    tmp_path: Path, line: str, options: dict[str, Any], expected: CrawlDatum
) -> None:
    crawl = Crawl(tmp_path)
    other = datum(score=9.0)
    crawl.directory = make_crawldb(
        str(tmp_path / "crawl"), {"http://a.org/": OLD, "http://a.org/other": other}
    )
    done = crawl.inject(line, **options)
    assert crawl.records == {"http://a.org/": expected, "http://a.org/other": other}
    assert done.report.counters["urls_merged"] == 1
    assert done.report.counters["urls_new"] == 0


def test_settings_speak_where_the_options_are_silent(crawl: Crawl) -> None:
    crawl.inject("http://a.org/\tn=1")
    crawl.inject("http://a.org/\tn=2", settings={"db.injector.update": True})
    assert crawl.records["http://a.org/"].metadata == {"n": "2"}
    crawl.inject("http://a.org/\tm=3", settings={"db.injector.overwrite": True})
    assert crawl.records["http://a.org/"].metadata == {"m": "3"}
    with pytest.raises(UsageError, match="exclude each other"):
        crawl.inject("http://a.org/", overwrite=True, update=True)


def test_a_default_score_that_32_bits_cannot_hold_is_still_the_default(crawl: Crawl) -> None:
    settings: dict[str, object] = {"db.score.injected": 0.1}
    crawl.inject("http://a.org/\tnutch.score=5", settings=settings)
    crawl.inject("http://a.org/", settings=settings, update=True)
    assert crawl.records["http://a.org/"].score == 5.0


def test_only_touched_buckets_are_written_anew(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    records = {f"http://h{n}.org/": datum() for n in range(30)}
    crawl.directory = make_crawldb(str(tmp_path / "crawl"), records, buckets=8)
    before = {file.bucket: file for file in crawl.directory.require_crawldb().files}
    crawl.inject("http://h3.org/new")
    after = {file.bucket: file for file in crawl.directory.require_crawldb().files}
    changed = [bucket for bucket in after if after[bucket] != before[bucket]]
    assert len(changed) == 1
    assert after.keys() == before.keys()
    assert crawl.records.keys() == {*records, "http://h3.org/new"}


def test_purge_404_drops_gone_records(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.directory = make_crawldb(
        str(tmp_path / "crawl"),
        {f"http://h{n}.org/": datum(status=Status.DB_GONE) for n in range(9)},
    )
    done = crawl.inject("http://new.org/", settings={"db.update.purge.404": True})
    assert list(crawl.records) == ["http://new.org/"]
    assert done.report.counters["urls_purged_404"] == 9


def test_filter_normalize_all_moves_and_purges_old_records(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    moved = datum(score=5.0, metadata={"m": "1"})
    crawl.directory = make_crawldb(
        str(tmp_path / "crawl"),
        {
            "http://OTHER.org/x/../y": moved,
            "http://a.org/pic.gif": datum(),
            "http://a.org/keep": datum(score=2.0),
            "http://a.org/./keep": datum(score=3.0),
            "http://a.org/./seeded": datum(score=4.0),
        },
        buckets=5,
    )
    files = {"open.txt": "-\\.gif$\n+."}
    done = crawl.inject("http://a.org/seeded\tn=1", filter_normalize_all=True, files=files)
    assert crawl.records == {
        "http://other.org/y": moved,
        "http://a.org/keep": datum(score=2.0),
        "http://a.org/seeded": datum(score=4.0),
    }
    counters = done.report.counters
    assert (counters["urls_moved"], counters["urls_purged_filter"]) == (3, 1)
    assert (counters["urls_moved_onto_known"], counters["urls_merged"]) == (1, 1)


def test_folders_gzip_and_several_files(crawl: Crawl, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    (folder / "deeper").mkdir(parents=True)
    (folder / "b.txt").write_text("http://a.org/\tn=b\n")
    (folder / "a.txt.gz").write_bytes(gzip.compress(b"http://a.org/\tn=a\nhttp://z.org/\n"))
    config = Config.of(OPEN, {"open.txt": "+."})
    done = inject.run(
        InProcess(),
        crawl.directory,
        config,
        InjectOptions((str(folder), crawl.seeds("http://late.org/"))),
        ManualClock(NOW),
    )
    assert sorted(crawl.records) == ["http://a.org/", "http://late.org/", "http://z.org/"]
    assert crawl.records["http://a.org/"].metadata == {"n": "b"}
    counters = done.report.counters
    assert (counters["seed_files"], counters["seed_folders_skipped"]) == (3, 1)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((), "no seeds: {seeds}; nothing was injected"),
        (("# nothing", ""), "no seeds: {seeds}; nothing was injected"),
        (
            ("javascript:x", "javascript:y", "http://a.org/x.gif"),
            "none of the 3 seed lines is usable (malformed.scheme_not_crawled 2, such as"
            " 'javascript:x'; urls_filtered 1, such as"
            " 'http://a.org/x.gif (regex: open.txt:1: -gif)'): {seeds}; nothing was injected;"
            " --no-filter takes what the URL filters (urlfilter.order) reject",
        ),
    ],
)
def test_without_one_usable_seed_nothing_is_published(
    crawl: Crawl, lines: tuple[str, ...], expected: str
) -> None:
    def refused() -> str:
        with pytest.raises(NothingToDo) as caught:
            crawl.inject(*lines, files={"open.txt": "-gif\n+."})
        return str(caught.value)

    assert refused() == expected.format(seeds=crawl.folder / "seeds.txt")
    assert crawl.directory.crawldb.current() is None
    crawl.inject("http://a.org/")
    refused()
    done = crawl.directory.crawldb.current()
    assert done is not None
    assert done.number == 1
    assert not crawl.directory.crawldb.folder.exists("scratch")
    # a known URL is a usable one, and old records may be all there is to see to
    assert crawl.inject("http://a.org/").report.counters["urls_merged"] == 1
    assert crawl.inject(*lines, filter_normalize_all=True).snapshot.number == 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: str(folder / "missing"), "missing: no such file or folder"),
        (lambda folder: _made(folder / "empty"), "no seed files in this folder"),
        (lambda folder: _damaged(folder / "bad.gz"), "damaged gzip file"),
    ],
)
def test_unreadable_seeds_publish_nothing(crawl: Crawl, make: Any, message: str) -> None:
    options = InjectOptions((make(crawl.folder),))
    with pytest.raises((StorageError, UsageError), match=message):
        inject.run(InProcess(), crawl.directory, Config(), options, ManualClock(NOW))
    assert crawl.directory.crawldb.current() is None


def _made(folder: Path) -> str:
    folder.mkdir()
    return str(folder)


def _damaged(path: Path) -> str:
    path.write_bytes(gzip.compress(b"http://a.org/\n" * 1000)[:-20])
    return str(path)


def test_wrong_settings_are_reported_before_anything_starts() -> None:
    options = InjectOptions(("seeds",))
    with pytest.raises(PluginError, match="did you mean 'regex'"):
        inject.check(Config.of({"urlfilter.order": "regx"}), options)
    with pytest.raises(ConfigError, match="bad.txt:2"):
        files = {"bad.txt": "+.\n+(\n"}
        inject.check(Config.of({"urlfilter.regex.file": "bad.txt"}, files), options)


@settings(max_examples=scaled(30))
@given(
    rounds=st.lists(
        st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=20),
        max_size=4,
    ),
    buckets=st.integers(1, 6),
)
def test_many_injects_are_one_big_one(
    tmp_path_factory: pytest.TempPathFactory,
    rounds: list[list[tuple[int, int]]],
    buckets: int,
) -> None:
    crawl = Crawl(tmp_path_factory.mktemp("inject"))
    expected: dict[str, dict[str, str]] = {}
    for lines in rounds:
        crawl.inject(
            *(f"http://h{n % 7}.org/p{n}\tv={value}" for n, value in lines),
            settings={"crawldb.buckets": buckets, "crawldb.row.group.size": 3},
            overwrite=True,
        )
        expected.update({f"http://h{n % 7}.org/p{n}": {"v": str(value)} for n, value in lines})
        assert {url: record.metadata for url, record in crawl.records.items()} == expected
