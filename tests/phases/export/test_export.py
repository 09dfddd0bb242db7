"""export on crawls whose pages change, move, vanish and repeat each other."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from crawl.errors import NothingToDo, UsageError
from crawl.model.status import Status
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.export import run as export
from crawl.phases.export.options import ExportOptions
from crawl.phases.export.values import ChunkUnit
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.exported import ExportedCrawl, records_in
from tests.phases.indexed import GONE, MOVED, Page
from tests.phases.made import NOW

NOINDEX = "<meta name=robots content=noindex>"
A, B, C, D, E = (f"http://{host}/" for host in ("a.com", "b.com", "c.com", "d.org", "e.net"))
DEEP = "http://a.com/deep"
LONG = " ".join(f"Word{number} is said here, once." for number in range(30))


def changes(records: dict[str, dict[str, Any]]) -> dict[str, str | None]:
    return {url: record.get("change") for url, record in records.items()}


def test_records_are_the_indexable_pages_through_three_rounds(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path)
    crawl.round(
        {
            A: Page("alpha one"),
            B: Page("beta one"),
            C: Page("gamma one", NOINDEX),
            D: Page("delta one"),
            E: GONE,
            DEEP: Page("deep one"),
        }
    )
    done = crawl.export("one")
    assert done.records == 4
    assert done.report.counters["skipped.noindex"] == 1
    assert done.report.counters["skipped.gone"] == 1
    assert set(crawl.records("one")) == {A, B, D, DEEP}
    first = crawl.crawl_dir.require_crawldb().number

    crawl.round({A: Page("alpha two"), B: GONE, C: Page("gamma two"), D: Page("d", NOINDEX)})
    crawl.export("two", "parquet", "full")
    found = crawl.records("two")
    assert {url: row["text"] for url, row in found.items()} == {
        A: "alpha two",
        C: "gamma two",
        DEEP: "deep one",
    }
    crawl.export("changes", since=first)
    assert changes(crawl.records("changes")) == {
        A: "changed",
        B: "gone",
        C: "new",
        D: "gone",
    }
    assert crawl.export("more", since=first).report.counters["unchanged"] == 1

    second = crawl.crawl_dir.require_crawldb().number
    crawl.round({B: Page("beta three"), DEEP: MOVED, C: Page("gamma two")})
    crawl.export("three")
    crawl.index(rebuild=True)
    assert set(crawl.records("three")) == set(crawl.documents()) == {A, B, C}
    crawl.export("since two", since=second)
    assert changes(crawl.records("since two")) == {B: "new", DEEP: "gone"}
    now = crawl.crawl_dir.require_crawldb().number
    assert crawl.export("nothing", since=now).records == 0
    assert crawl.records("nothing") == {}


def test_duplicates_are_left_out_and_told_to_be_gone(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("the same"), B: Page("the same"), C: Page("other")})
    before = crawl.crawl_dir.require_crawldb().number
    crawl.set_records({B: Status.DB_DUPLICATE})
    done = crawl.export("unique")
    assert done.report.counters["skipped.duplicate"] == 1
    assert set(crawl.records("unique")) == {A, C}
    crawl.export("since", since=before)
    assert changes(crawl.records("since")) == {B: "gone"}


def test_a_recrawl_of_unchanged_pages_brings_nothing(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path)
    pages: dict[str, Any] = {A: Page("the same"), B: Page("the same"), C: Page("other")}
    crawl.round(pages)
    clock = ManualClock(NOW)
    found = dedup.run(InProcess(), crawl.crawl_dir, crawl.config, DedupOptions(), clock)
    assert found.report.counters["duplicates_marked"] == 1
    before = crawl.crawl_dir.require_crawldb().number
    crawl.round(pages)
    crawl.export("since", since=before)
    assert crawl.records("since") == {}, "a duplicate that did not change is still one"
    crawl.round({A: Page("now its own"), B: Page("and this one")})
    crawl.export("then", since=before)
    assert sorted(filter(None, changes(crawl.records("then")).values())) == ["changed", "new"]


def test_a_snapshot_that_is_forgotten_is_told_from_its_segments(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path, crawldb__snapshots__keep=1)
    crawl.round({A: Page("alpha one"), B: Page("beta")})
    before = crawl.crawl_dir.require_crawldb().number
    crawl.round({A: Page("alpha two")})
    crawl.round({B: GONE, C: Page("gamma")})
    done = crawl.export("since", since=before)
    assert "no longer kept" in " ".join(done.remarks)
    assert changes(crawl.records("since")) == {A: "changed", B: "gone", C: "new"}


def test_a_page_that_lost_its_text_is_told_to_be_gone(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha one"), B: Page("beta")})
    before = crawl.crawl_dir.require_crawldb().number
    crawl.round({A: Page("")})
    for format in ("jsonl", "wet"):
        done = crawl.export(format, format, since=before)
        assert done.records == 0 and done.report.counters["skipped.no_text"] == 1
        (file,) = done.files
        rows = gzip.decompress(Path(crawl.place(format), file.path).read_bytes()).splitlines()
        assert [json.loads(row)["change"] for row in rows] == ["gone"]


def test_a_store_without_folders_will_do(tmp_path: Path) -> None:
    from crawl.storage.folder import Folder

    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha"), B: Page("beta")})
    output = f"memory://{tmp_path.name}/out"
    for overwrite in (False, True):
        options = ExportOptions(output, overwrite=overwrite)
        export.run(InProcess(), crawl.crawl_dir, crawl.config, options, ManualClock(NOW))
        names = Folder(output).files()
        data = [name for name in names if name.startswith("data/")]
        manifest = json.loads(Folder(output).read("manifest.json") or b"")
        assert sorted(data) == [file["path"] for file in manifest["files"]]
        assert set(names) - set(data) == {"_EXPORT", "_SUCCESS", "manifest.json"}


def test_a_record_has_what_the_crawl_knows(tmp_path: Path) -> None:
    head = (
        '<link rel="license" href="https://creativecommons.org/licenses/by/4.0/">'
        '<link rel=canonical href="/canonical"><meta name=dcterms.rights content="All mine">'
        '<meta property="article:published_time" content="2026-01-02">'
    )
    body = (
        f"alpha <nav><a href=/x>Menu entry</a></nav><h1>The title</h1><p>{LONG}</p>"
        "<h2>Part</h2><ul><li>first item</li><li>second</li></ul>"
        "<pre><code class=language-python>def f():\n    return 1</code></pre>"
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    )
    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page(body, head)})
    crawl.export("main")
    record = crawl.records("main")[A]
    assert record["url"] == A and record["host"] == "a.com" and record["title"] == "alpha"
    assert record["license"] == ["https://creativecommons.org/licenses/by/4.0/", "All mine"]
    assert record["canonical"] == "http://a.com/canonical"
    assert record["published"] == "2026-01-02"
    assert record["fetched_at"].startswith("20") and "change" not in record
    assert len(record["content_hash"]) == 64 and record["signature"]
    assert record["quality"]["words"] == len(record["text"].split())
    assert "Menu" not in record["text"] and LONG in record["text"]

    crawl.export("markdown", "parquet", "markdown")
    text = crawl.records("markdown")[A]["text"]
    assert "# The title" in text and "## Part" in text
    assert "- first item\n- second" in text
    assert "```python\ndef f():\n    return 1\n```" in text
    assert "| a | b |\n| --- | --- |\n| 1 | 2 |" in text

    crawl.export("chunks", text="markdown", chunk=200)
    chunks = sorted(crawl.records("chunks").values(), key=lambda row: row["chunk"])
    assert "".join(chunk["text"] for chunk in chunks) == text
    assert all(len(chunk["text"]) <= 200 and chunk["chunks"] == len(chunks) for chunk in chunks)
    assert chunks[0]["headings"] in ([], ["The title"])
    assert chunks[-1]["headings"] == ["The title", "Part"]


def test_wet_is_what_warcio_reads(tmp_path: Path) -> None:
    from warcio.archiveiterator import ArchiveIterator

    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha ünï"), B: Page("beta"), C: Page("gamma")})
    before = crawl.crawl_dir.require_crawldb().number
    crawl.settings["export.file.records"] = 1
    crawl.export("wet", "wet", "full")
    found = {}
    identifiers = []
    for path in Path(crawl.place("wet"), "data").iterdir():
        assert path.name.endswith(".warc.wet.gz")
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise"):
                identifiers.append(record.rec_headers["WARC-Record-ID"])
                if record.rec_type == "conversion":
                    found[record.rec_headers["WARC-Target-URI"]] = record.raw_stream.read().decode()
                    assert record.rec_headers["Content-Type"] == "text/plain"
                else:
                    assert record.rec_type == "warcinfo"
    assert found == {A: "alpha ünï", B: "beta", C: "gamma"}
    assert len(set(identifiers)) == len(identifiers) == 2 * len(found)
    crawl.round({A: Page("alpha two"), B: GONE})
    crawl.export("changes", "wet", since=before)
    (gone,) = Path(crawl.place("changes"), "gone").iterdir()
    assert [
        json.loads(line)["url"] for line in gzip.decompress(gone.read_bytes()).splitlines()
    ] == [B]


def test_markdown_files_have_safe_names_and_front_matter(tmp_path: Path) -> None:
    urls = [
        A,
        "http://a.com/x/y.html?q=1",
        "http://a.com/%2e%2e/%2e%2e/etc/passwd",
        f"{A}{'l' * 900}",
    ]
    crawl = ExportedCrawl(tmp_path)
    pages = {
        url: Page(f"---\ninjected: true\n--- {LONG} {number}") for number, url in enumerate(urls)
    }
    crawl.round(pages)
    done = crawl.export("files", "markdown")
    assert done.records == len(urls)
    folder = Path(crawl.place("files"), "data")
    files = [path for path in folder.rglob("*") if path.is_file()]
    found = {}
    for path in files:
        assert path.parent == folder / "a.com" and len(path.name) < 120
        head, text = path.read_text().removeprefix("---\n").split("\n---\n\n", 1)
        data = yaml.safe_load(head)
        assert "injected" not in data and LONG in text
        found[data["url"]] = data
    assert len(found) == len(files) == len(urls)
    with pytest.raises(UsageError, match="too many for a file each"):
        crawl.settings["export.markdown.max.files"] = 2
        crawl.export("other", "markdown")


def test_a_folder_that_holds_anything_is_refused(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha"), B: Page("beta")})
    crawl.export("out", "parquet")
    with pytest.raises(UsageError, match="holds an export: choose another folder, or --overwrite"):
        crawl.export("out")
    crawl.export("out", overwrite=True)
    assert set(crawl.records("out")) == {A, B}
    foreign = Path(crawl.place("foreign"))
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files than an export's"):
        crawl.export("foreign", overwrite=True)
    Path(crawl.place("out"), "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        crawl.export("out", overwrite=True)
    assert (foreign / "thesis.txt").exists() and Path(crawl.place("out"), "notes.txt").exists()


def test_an_export_that_is_refused_leaves_the_earlier_one(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path, export__markdown__max__files=1)
    crawl.round({A: Page("alpha"), B: Page("beta")})
    crawl.export("out")
    with pytest.raises(UsageError, match="too many for a file each"):
        crawl.export("out", "markdown", overwrite=True)
    assert set(crawl.records("out")) == {A, B}


@pytest.mark.parametrize("format", ["jsonl", "parquet", "wet", "markdown"])
def test_nothing_in_a_dataset_moves_a_cursor(tmp_path: Path, format: str) -> None:
    crawl = ExportedCrawl(tmp_path)
    wicked = "alpha&#27;[2J &#7;be\x1b]0;x\x07ta &#155;31m &#127; \x0c end &#27; " + LONG
    crawl.round({A: Page(wicked), B: Page("&#27;&#1;")})
    done = crawl.export("out", format)
    assert done.report.counters["skipped.no_text"] == 1
    if format in ("jsonl", "parquet"):
        record = crawl.records("out")[A]
        texts = [record["text"], record["title"]]
    else:
        files = [path for path in Path(crawl.place("out"), "data").rglob("*") if path.is_file()]
        raw = b"".join(path.read_bytes() for path in files)
        texts = [(gzip.decompress(raw) if format == "wet" else raw).decode()]
    assert "[2J" in texts[0] and LONG in texts[0]
    for text in texts:
        assert not [each for each in text if not each.isprintable() and each not in "\r\n\t"]


def test_wrong_options_are_one_line(tmp_path: Path) -> None:
    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha")})
    for options, line in (
        ({"format": "wet", "chunk": 100}, "holds whole pages"),
        ({"format": "markdown", "text": "full"}, "leave out --text"),
        ({"chunk_unit": ChunkUnit.WORDS}, "say how long with --chunk"),
        ({"since": 99}, "newest snapshot"),
        ({"since": 1, "segments": ("20261115093001",)}, "name none"),
    ):
        with pytest.raises(UsageError, match=line):
            crawl.export("out", **options)
        assert not Path(crawl.place("out")).exists()
    unparsed = ExportedCrawl(tmp_path / "other")
    from tests.phases.made import datum, make_crawldb

    make_crawldb(unparsed.address, {A: datum()}, buckets=4)
    with pytest.raises(NothingToDo, match="nothing to export"):
        unparsed.export("out")


def test_files_hold_no_more_records_than_asked_and_shards_meet_several_buckets(
    tmp_path: Path,
) -> None:
    crawl = ExportedCrawl(tmp_path, export__file__records=2)
    pages = {f"http://h{number}.com/": Page(f"text {number}") for number in range(11)}
    crawl.round(pages)
    done = crawl.export("small")
    assert all(file.records <= 2 for file in done.files) and len(done.files) >= 6
    assert set(records_in(Path(crawl.place("small")))) == set(pages)


def test_stray_attempts_are_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from crawl.phases.export.tasks import part

    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha"), B: Page("beta")})
    original = part.export_part
    calls = []

    def twice(job: Any, *arguments: Any) -> Any:
        calls.append(original(job, *arguments))  # an attempt that nobody hears of
        return original(job, *arguments)

    monkeypatch.setattr("crawl.phases.export.run.export_part", twice)
    done = crawl.export("out")
    assert done.report.counters["attempts_swept"] == len(calls)
    assert set(crawl.records("out")) == {A, B}


def test_hostile_pages_do_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invalid UTF-8, nesting, tables without end, a URL and a title that are attacks."""
    pages = {
        A: Page("\ud800\x00\x1b[31m &#xD800; \u202e " + LONG),
        B: Page("<div>" * 10_000 + LONG),
        C: Page("<table>" + "<tr><td>x<td>y" * 5_000 + "</table>" + LONG),
        D: Page(f"x {LONG}", "<title>---\nurl: evil</title>"),
        "http://e.net/%0d%0aWARC-Type:%20response": Page(LONG),
    }
    monkeypatch.setattr(
        Page, "body", property(lambda page: _body(page).encode("utf-8", "surrogatepass"))
    )
    crawl = ExportedCrawl(tmp_path)
    crawl.round(pages)
    for format in ("jsonl", "parquet"):
        crawl.export(format, format, "markdown")
        records = crawl.records(format)
        assert set(records) == set(pages)
        assert "| x | y |" in records.pop(C)["text"]
        assert all("Word29 is said here, once." in row["text"] for row in records.values())
    done = crawl.export("wet", "wet")
    assert done.records == len(pages) and not done.report.counters["extraction_errors"]
    assert crawl.export("files", "markdown").records == len(pages)


def _body(page: Page) -> str:
    return f"<html><head>{page.head}</head><body>{page.text}"


def test_a_page_that_breaks_the_extractor_keeps_its_stored_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(markup: bytes, *, markdown: bool) -> Any:
        raise RecursionError("too deep")

    monkeypatch.setattr("crawl.phases.export.tasks.record.extract", broken)
    crawl = ExportedCrawl(tmp_path)
    crawl.round({A: Page("alpha one"), B: Page("")})
    done = crawl.export("out", text="markdown")  # the main text is that of the parse
    assert done.report.counters["extraction_errors"] == 2
    assert done.report.counters["skipped.no_text"] == 1
    assert crawl.records("out")[A]["text_kind"] == "full"
    assert crawl.records("out")[A]["text"] == "alpha one"
