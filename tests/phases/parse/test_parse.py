from __future__ import annotations

from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import Locked, NoSnapshot, PluginError, UsageError
from crawl.model.arrow import strings
from crawl.model.content import Content
from crawl.model.status import Status
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.parse.run import ParseResult, grouped
from crawl.storage.bucketed import read_bucket
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import acquire
from crawl.storage.segments import (
    CONTENT,
    FETCH,
    GENERATE,
    PARSE,
    PARSE_DATA,
    PARSE_TEXT,
    PartFile,
    PartManifest,
)
from crawl.tables.runner import InProcess
from tests.parsing.small_parsers import HERE, content, settings
from tests.phases.fetched import NAME, fetched_segment, parse_rows, rows_for_crawldb, stray_files
from tests.phases.made import datum, make_crawldb


def pages(count: int, start: int = 0) -> list[Content]:
    return [
        content(
            f"http://h{number % 3}.org/p{number}",
            f"title T{number}",
            f"text page {number}",
            f"links 4 http://h{(number + 1) % 3}.org/q{number}-",
        )
        for number in range(start, start + count)
    ]


def run(directory: CrawlDir, runner: InProcess | None = None, **changes: object) -> ParseResult:
    options = {name: changes.pop(name) for name in list(changes) if name in _OPTIONS}
    return parse.run(
        runner or InProcess(),
        directory,
        Config.of(settings(**changes)),
        ParseOptions(**options),  # type: ignore[arg-type]
        SystemClock(),
    )


_OPTIONS = ("segment", "reparse", "filter", "normalize", "steal_lock")


def test_a_segment_is_parsed_and_published(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://h0.org/": datum()}, buckets=4)
    refused = content("http://h0.org/gone", status=int(Status.FETCH_GONE))
    segment = fetched_segment(directory, [[*pages(5), refused], pages(4, 5)])
    done = run(directory)
    assert done.segment == NAME
    assert done.report.counters["pages"] == 10
    assert done.report.counters["skipped.not_success"] == 1
    assert done.report.counters["parse.success"] == 9
    assert done.report.counters["outlinks_kept"] == 36
    assert [row["title"] for row in parse_rows(segment, PARSE_DATA)] == [
        f"T{number}" for number in (0, 3, 6, 1, 4, 7, 2, 5, 8)
    ]
    assert len(parse_rows(segment, PARSE_TEXT)) == 9
    statuses = [record.status for _, record in rows_for_crawldb(segment)]
    assert statuses.count(Status.LINKED) == 36
    assert statuses.count(Status.SIGNATURE) == 9
    assert segment.report(PARSE)["counters"]["outlinks_kept"] == 36
    assert not stray_files(segment)
    with pytest.raises(UsageError, match="no segment that is fetched and not parsed"):
        run(directory)


def test_rows_for_the_crawldb_lie_by_its_buckets(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://h0.org/": datum()}, buckets=4)
    segment = fetched_segment(directory, [pages(9)])
    run(directory)
    (file,) = segment.require(PARSE).files
    found = [
        url
        for bucket in range(4)
        for url in strings(read_bucket(segment.part_folder(PARSE), file.path, bucket, 4)["url"])
    ]
    assert sorted(found) == [url for url, _ in rows_for_crawldb(segment)]


def test_the_result_is_the_same_however_the_pages_are_split(tmp_path: Path) -> None:
    results = []
    for split, threads in ((1, 1), (2, 1), (4, 3)):
        directory = CrawlDir(str(tmp_path / f"split-{split}"))
        all_pages = pages(12)
        files = [all_pages[start::split] for start in range(split)]
        segment = fetched_segment(directory, files)
        done = run(directory, InProcess(threads))
        tables = [parse_rows(segment, table) for table in (PARSE, PARSE_DATA, PARSE_TEXT)]
        results.append((tables, done.report.counters))
    assert results[0] == results[1] == results[2]


def test_what_is_parsed_is_not_parsed_again_unless_asked(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    segment = fetched_segment(directory, [pages(3)])
    run(directory)
    before = segment.parsed()
    with pytest.raises(UsageError, match="--reparse"):
        run(directory, segment=NAME)
    with pytest.raises(UsageError, match="needs the name"):
        run(directory, reparse=True)
    done = run(directory, segment=f"segments/{NAME}/", reparse=True, db__max__outlinks__per__page=1)
    assert done.report.counters["outlinks_kept"] == 3
    assert segment.parsed() != before
    assert {len(row["outlinks"]) for row in parse_rows(segment, PARSE_DATA)} == {1}
    assert not stray_files(segment)


def test_what_a_fetch_parsed_in_part_is_parsed_as_a_whole(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    for name in (None, NAME):
        segment = fetched_segment(directory, [pages(3)])
        segment.publish_parsed({PARSE: PartManifest((), 0, complete=False)})
        assert run(directory, segment=name).report.counters["pages"] == 3
        assert segment.require(PARSE).complete


def test_a_parse_whose_pages_were_not_stored_is_not_lost(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    segment = fetched_segment(directory, [pages(3)])
    run(directory)
    segment.publish(CONTENT, PartManifest((), 0))
    before = segment.parsed()
    with pytest.raises(UsageError, match="not stored"):
        run(directory, segment=NAME, reparse=True)
    assert segment.parsed() == before


def test_the_options_switch_normalizers_and_filters_off(tmp_path: Path) -> None:
    page = content(
        "http://h.org/", "link http://h.org/x#y", "link http://h.org/?long=" + "x" * 3000
    )
    directory = CrawlDir(str(tmp_path))
    segment = fetched_segment(directory, [[page]])
    run(directory)
    assert [link["url"] for link in parse_rows(segment, PARSE_DATA)[0]["outlinks"]] == [
        "http://h.org/x"
    ]
    run(directory, segment=NAME, reparse=True, filter=False, normalize=False)
    urls = [link["url"] for link in parse_rows(segment, PARSE_DATA)[0]["outlinks"]]
    assert urls[0] == "http://h.org/x#y" and len(urls) == 2


def test_only_what_is_wholly_fetched_is_parsed(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    with pytest.raises(UsageError, match="no segment"):
        run(directory)
    with pytest.raises(NoSnapshot):
        run(directory, segment=NAME)
    segment = directory.segments.segment(NAME)
    segment.publish(GENERATE, PartManifest((), 0))
    segment.publish(FETCH, PartManifest((), 0, complete=False))
    with pytest.raises(UsageError, match="not wholly fetched"):
        run(directory, segment=NAME)
    with pytest.raises(UsageError, match="no segment"):
        run(directory)


def test_a_segment_without_content_is_parsed_to_nothing(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    segment = directory.segments.segment(NAME)
    for part in (GENERATE, FETCH, CONTENT):
        segment.publish(part, PartManifest((), 0))
    assert run(directory).report.counters == {}
    assert segment.require(PARSE).rows == 0


def test_a_segment_that_somebody_works_on_is_left_alone(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    segment = fetched_segment(directory, [pages(1)])
    lock = acquire(segment.folder, "fetch", SystemClock(), stale_after_ms=60_000)
    with pytest.raises(Locked):
        run(directory)
    lock.release()
    assert run(directory, steal_lock=True).report.counters["parse.success"] == 1


def test_settings_that_cannot_be_are_reported_before_anything_starts() -> None:
    with pytest.raises(PluginError, match="no parser plugin is called 'htlm'"):
        parse.check(Config.of({"plugin.parser": ["htlm"]}))
    parse.check(Config.of(settings()))


def test_small_files_share_a_task_and_the_largest_task_is_first() -> None:
    mega = 1 << 20
    sizes = [1 * mega, 2 * mega, 3 * mega, 20 * mega, 4 * mega, 5 * mega]
    files = [PartFile(number, f"f{number}", 1, size) for number, size in enumerate(sizes)]
    groups = [[file.part for file in group] for group in grouped(files)]
    assert groups == [[3], [0, 1, 2], [5], [4]]
    assert grouped([]) == []


def test_a_parser_that_ends_its_process_costs_its_page_alone(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    bad = content("http://h9.org/bad", "do die exit")
    segment = fetched_segment(directory, [[*pages(4), bad, *pages(4, 4)]])
    done = run(directory, plugin__parser=[f"{HERE}:LineParser"])
    assert done.report.counters["parse.success"] == 8
    assert done.report.counters["parse.failed_crashed"] == 1
    failed = [record for url, record in rows_for_crawldb(segment) if url == "http://h9.org/bad"]
    assert [record.status for record in failed] == [Status.PARSE_FAILED]
    assert failed[0].metadata["_parse_status_"] == "failed_crashed"
