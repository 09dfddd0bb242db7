"""Near duplicates among pages as documentation has them: one template, the same sentences, and a
subject each. A dedup marks none of them, and what it does mark can be seen before."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from crawl.errors import UsageError
from crawl.model.status import Status
from crawl.model.tables import PARSE_DATA, PARSE_TEXT
from crawl.plugins.signature.simhash import distance
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.dedup.test_dedup import page, run_dedup, statuses
from tests.phases.dedup.test_dedup_near import SEGMENT, add_parse, clusters_of
from tests.phases.made import make_crawldb

MENU = " ".join(f"chapter{n} section{n} page{n}" for n in range(150))
KINDS = [
    *("COLLATION", "CONVERSION", "DOMAIN", "EXTENSION", "FOREIGN TABLE", "INDEX", "LANGUAGE"),
    *("MATERIALIZED VIEW", "OPERATOR CLASS", "POLICY", "PUBLICATION", "ROLE", "RULE", "SCHEMA"),
    *("SEQUENCE", "SERVER", "STATISTICS", "TABLE", "TABLESPACE", "TRIGGER", "VIEW"),
]

Pages = dict[str, tuple[str, str]]
"""By URL: title and main text."""


def drop_text(kind: str, version: int = 15) -> str:
    name = kind.lower()
    return f"""DROP {kind}

DROP {kind} — remove a {name}

Synopsis

DROP {kind} [ IF EXISTS ] name [, ...] [ CASCADE | RESTRICT ]

Description

DROP {kind} removes an existing {name}. To execute this command you must be the owner of the {name}.

Parameters

IF EXISTS
Do not throw an error if the {name} does not exist. A notice is issued in this case.

name
The name, optionally qualified by a schema, of the {name} to remove.

CASCADE
Automatically drop objects that depend on the {name}, and in turn all objects that depend on those
objects, as section {version}.14 tells.

RESTRICT
Refuse to drop the {name} if any objects depend on it. This is the default.

Compatibility

The standard has no such command; the option IF EXISTS is an extension of ours, too."""


def blob_text(verb: str, preposition: str) -> str:
    return f"""C interface: {verb} data of a BLOB incrementally

This function is used to {verb} data {preposition} an open BLOB handle and a buffer of the caller.
N bytes of data are moved, beginning at the offset. If the offset is less than N bytes before the
end of the BLOB, an error is returned and no data is moved. The size of the BLOB can be found by the
interface that tells of bytes, and an expired handle fails with an abort. On success the result is
OK, otherwise an error code or an extended error code. The function only works on a handle that was
made by a prior successful call to open and that was not closed since."""


def manual() -> Pages:
    pages = {
        f"http://docs.test/sql-drop{kind.lower().replace(' ', '')}.html": (
            f"DROP {kind}",
            drop_text(kind),
        )
        for kind in KINDS
    }
    for verb, preposition in (("read", "from"), ("write", "into")):
        title = f"{verb.title()} Data Of A BLOB Incrementally"
        pages[f"http://docs.test/blob_{verb}.html"] = (title, blob_text(verb, preposition))
    for name in ("begin", "commit", "detach", "reindex", "release", "vacuum"):
        text = f"{name}-stmt\n\nUsed by: sql-stmt\n\nSee also: lang_{name}.html"
        pages[f"http://docs.test/syntax/{name}-stmt.html"] = (f"Syntax: {name}-stmt", text)
    return pages


def add_pages(directory: CrawlDir, pages: Pages) -> None:
    texts = [
        {"url": url, "text": f"{MENU} {text}", "main_text": text}
        for url, (_, text) in pages.items()
    ]
    titles = [{"url": url, "title": title} for url, (title, _) in pages.items()]
    add_parse(directory, PARSE_TEXT, texts, SEGMENT)
    add_parse(directory, PARSE_DATA, titles, SEGMENT)


def crawl_of(tmp_path: Path, pages: Pages, **signatures: bytes) -> CrawlDir:
    records = {
        url: page(signatures.get(url, md5(f"{url} {text}".encode()).digest()), score=1000 - place)
        for place, (url, (_, text)) in enumerate(pages.items())
    }
    directory = make_crawldb(str(tmp_path), records, buckets=3)
    add_pages(directory, pages)
    return directory


def test_pages_of_a_manual_are_not_near_each_other(tmp_path: Path) -> None:
    pages = manual()
    directory = crawl_of(tmp_path, pages)
    for near in ("jaccard", "jaccard=0.5"):
        assert clusters_of(directory, near=near) == []
    assert set(statuses(directory).values()) == {Status.DB_FETCHED}
    assert not run_dedup(directory, near="jaccard", group="host").report.counters["duplicates"]


def test_a_mirror_with_another_template_and_the_next_version_are(tmp_path: Path) -> None:
    pages = manual()
    copies: Pages = {}
    for number, (url, (title, _)) in enumerate(list(pages.items())[: len(KINDS)]):
        there = url.replace("docs.test", "mirror.test")
        kind = KINDS[number]
        copies[there] = (f"{number}. {title} | Mirror of manuals", drop_text(kind, 17))
    directory = crawl_of(tmp_path, {**pages, **copies})
    found = clusters_of(directory, near="jaccard")
    wanted = [{url, url.replace("docs.test", "mirror.test")} for url in list(pages)[: len(KINDS)]]
    assert sorted(map(sorted, found)) == sorted(map(sorted, wanted))
    marked = {url for url, status in statuses(directory).items() if status is Status.DB_DUPLICATE}
    assert marked == set(copies), "the better of two survives"


def test_what_only_one_of_two_has_is_not_lost(tmp_path: Path) -> None:
    long = " ".join(f"word{n} of{n % 97} sentence{n % 13}" for n in range(700))
    option = " ".join(f"option{n} that the other version lacks" for n in range(20))
    url, there = "http://docs.test/a", "http://mirror.test/a"
    added = {
        url: ("Manual", f"Manual\n\n{long}"),
        there: ("Manual", f"Manual\n\n{long}\n{option}"),
    }
    assert clusters_of(crawl_of(tmp_path / "added", added), near="jaccard") == []
    dated = {url: added[url], there: ("Manual", f"Manual\n\n{long}\nModified 1 May 2026")}
    assert clusters_of(crawl_of(tmp_path / "dated", dated), near="jaccard") == [{url, there}]
    headed = {url: added[url], there: ("Manual", f"Index of names\n\n{long}")}
    assert clusters_of(crawl_of(tmp_path / "headed", headed), near="jaccard") == []


def test_a_page_is_near_the_one_that_survives_or_stays(tmp_path: Path) -> None:
    """Of versions each is near the next, and the last is not near the first."""
    words = [f"word{n}" for n in range(500)]
    pages: Pages = {}
    for version in range(9):
        text = " ".join("new" + word if n < 6 * version else word for n, word in enumerate(words))
        pages[f"http://v{version}.test/"] = ("Manual", text)
    urls = list(pages)
    directory = crawl_of(tmp_path, pages)
    found = clusters_of(directory, near="jaccard=0.9")
    assert len(found) == 2, "one star would hold all of the chain"
    assert {url for cluster in found for url in cluster} == set(urls)
    assert urls[0] in found[0] and urls[8] not in found[0]
    left = [url for url, status in statuses(directory).items() if status is Status.DB_FETCHED]
    assert sorted(left) == [urls[0], next(url for url in urls if url not in found[0])]


def test_simhashes_of_pages_with_other_titles_are_not_compared(tmp_path: Path) -> None:
    one, other = b"\x00" * 8, b"\x00" * 7 + b"\x01"
    assert distance(one, other) == 1
    pages = {"http://docs.test/a": ("ParamChar", "x"), "http://docs.test/b": ("ParamLong", "x")}
    pages |= {"http://mirror.test/a": ("ParamChar", "x")}
    signatures = dict(zip(pages, (one, other, other), strict=True))
    directory = crawl_of(tmp_path, pages, **signatures)
    # those with the same signature are one page, whatever they are called
    assert clusters_of(directory) == [{"http://docs.test/b", "http://mirror.test/a"}]
    pages["http://mirror.test/a"] = ("ParamChar", "x")
    signatures["http://mirror.test/a"] = b"\x00" * 7 + b"\x03"
    directory = crawl_of(tmp_path / "near", pages, **signatures)
    assert clusters_of(directory, near="hamming=3") == [
        {"http://docs.test/a", "http://mirror.test/a"}
    ]


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and "lock" not in file.name
    }


@pytest.mark.parametrize("near", ["jaccard", "hamming"])
def test_a_preview_shows_the_most_doubtful_pairs_and_writes_nothing(
    tmp_path: Path, near: str
) -> None:
    text = drop_text("VIEW")
    words = text.split(" ")
    pages = {"http://docs.test/view": ("DROP VIEW", text)}
    for count in (1, 2, 3):
        changed = " ".join([*words[:-count], *(["anything"] * count)])
        pages[f"http://m{count}.test/view"] = ("DROP VIEW", changed)
    simhashes = [bytes([0] * 7 + [(1 << bits) - 1]) for bits in range(4)]
    signatures = dict(zip(pages, simhashes, strict=True)) if near == "hamming" else {}
    directory = crawl_of(tmp_path / "c", pages, **signatures)
    before = files_of(tmp_path / "c")
    done = run_dedup(directory, near=near, preview=2)
    assert files_of(tmp_path / "c") == before
    assert done.snapshot.number == directory.require_crawldb().number
    assert done.report.counters["statuses_to_change"] == 3
    assert done.pairs[0].duplicate == "http://m3.test/view"
    assert [pair.similarity for pair in done.pairs] == sorted(
        pair.similarity for pair in done.pairs
    )
    first = done.pairs[0]
    assert (first.title, first.duplicate_title) == ("DROP VIEW", "DROP VIEW")
    if near == "jaccard":
        assert first.url == "http://docs.test/view"
        ((change,), left_out) = first.difference.changes, first.difference.left_out
        assert (change.one, change.other) == ("of ours, too.", "anything anything anything")
        assert not left_out
    assert len(done.pairs) == 2
    after: Any = run_dedup(directory, near=near)
    assert after.report.counters["duplicates_marked"] == 3 and not after.pairs


def test_a_preview_needs_near(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": page()})
    with pytest.raises(UsageError, match="it needs --near"):
        run_dedup(directory, preview=5)
