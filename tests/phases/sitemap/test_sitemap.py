"""sitemap: what sites list, in memory and without a JVM."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.errors import Locked, NoSnapshot, NothingToDo, UsageError
from crawl.parsing.sitemap_body import sitemap_of_body
from crawl.phases.sitemap import run as sitemap
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.made import records_of
from tests.phases.sitemap_web import (
    SitemapWeb,
    config_of,
    index,
    known,
    read,
    robots,
    urlset,
)

A, B, C = "http://a.test", "http://b.test", "http://c.test"


def test_sitemaps_of_known_hosts_are_found_by_robots_or_by_their_usual_name(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.pages = {
        f"{A}/robots.txt": robots(f"{A}/maps/a.xml"),
        f"{A}/maps/a.xml": urlset(f"{A}/1", f"{A}/maps/2"),
        f"{A}/sitemap.xml": urlset(f"{A}/not-asked-for"),
        f"{B}/sitemap.xml": urlset(f"{B}/1"),
    }
    directory = known(tmp_path, f"{A}/", f"{B}/", f"{C}/")
    counters = read(directory, config_of(name), hosts=True).report.counters
    assert records_of(directory).keys() == {
        *(f"{A}/", f"{B}/", f"{C}/", f"{A}/1", f"{A}/maps/2", f"{B}/1"),
    }
    assert sorted(web.asked) == sorted(
        [
            *(f"{A}/robots.txt", f"{B}/robots.txt", f"{C}/robots.txt"),
            *(f"{A}/maps/a.xml", f"{B}/sitemap.xml", f"{C}/sitemap.xml"),
        ]
    )
    assert (counters["urls_new"], counters["hosts_asked"]) == (3, 3)
    assert counters["sitemaps_failed.notfound"] == 1


def test_the_usual_name_is_not_tried_where_that_is_switched_off(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.pages = {f"{A}/sitemap.xml": urlset(f"{A}/1")}
    config = config_of(name, sitemap__url__default__sitemap__xml=False)
    with pytest.raises(NothingToDo, match="no sitemap lists a URL"):
        read(known(tmp_path, f"{A}/"), config, hosts=True)
    assert web.asked == [f"{A}/robots.txt"]


def test_given_urls_make_a_crawldb_and_leave_its_hosts_alone(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.pages = {
        f"{A}/s.xml": urlset(f"{A}/1"),
        f"{B}/robots.txt": robots(f"{B}/b.txt"),
        f"{B}/b.txt": f"{B}/x\n{B}/y\n",
    }
    directory = CrawlDir(str(tmp_path / "c"))
    done = read(directory, config_of(name), f"{A}/s.xml", f"{B}/", tasks=1)
    assert records_of(directory).keys() == {f"{A}/1", f"{B}/x", f"{B}/y"}
    assert done.snapshot.number == 1
    web.asked.clear()
    read(directory, config_of(name), f"{A}/s.xml")
    assert web.asked == [f"{A}/s.xml"]  # the robots.txt is known
    read(directory, config_of(name, http__robots__keep=0), f"{A}/s.xml")
    assert web.asked[1:] == [f"{A}/robots.txt", f"{A}/s.xml"]
    with pytest.raises(NoSnapshot):
        read(CrawlDir(str(tmp_path / "none")), config_of(name), hosts=True)


@pytest.mark.parametrize("url", ["a.test", "ftp://a.test/s.xml", "http://", "mailto:a@b.test"])
def test_what_is_no_url_is_refused_before_anything_is_asked(url: str) -> None:
    with pytest.raises(UsageError, match="is no http"):
        sitemap.given_sources([url])


def test_what_a_robots_txt_forbids_is_not_asked_for(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.pages = {
        f"{A}/robots.txt": robots(f"{A}/closed/s.xml", f"{A}/s.xml", rules="Disallow: /closed/"),
        f"{A}/closed/s.xml": urlset(f"{A}/1"),
        f"{A}/s.xml": urlset(f"{A}/closed/2"),
    }
    directory = known(tmp_path, f"{A}/")
    counters = read(directory, config_of(name), hosts=True).report.counters
    assert f"{A}/closed/s.xml" not in web.asked
    assert counters["sitemaps_failed.robots_denied"] == 1
    # a page that may not be fetched is found to be so by the fetch
    assert records_of(directory).keys() == {f"{A}/", f"{A}/closed/2"}


# which sitemap may list what


def test_a_sitemap_lists_no_more_than_its_folder_unless_robots_txt_names_it(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    listed = urlset(f"{A}/shop/1", f"{A}/other/2", f"{B}/3", "https://a.test/shop/4")
    web.pages = {f"{A}/shop/s.xml": listed}
    directory = known(tmp_path, f"{C}/")
    counters = read(directory, config_of(name), f"{A}/shop/s.xml").report.counters
    assert records_of(directory).keys() == {f"{C}/", f"{A}/shop/1"}
    assert counters["urls_dropped.outside_folder"] == 2
    assert counters["urls_dropped.other_host"] == 1
    assert counters["urls_listed"] == 4

    web.pages[f"{A}/robots.txt"] = robots(f"{A}/shop/s.xml")
    changed = config_of(name, http__robots__keep=0)  # or it would be read tomorrow
    counters = read(directory, changed, f"{A}/").report.counters
    assert records_of(directory).keys() == {
        *(f"{C}/", f"{A}/shop/1", f"{A}/other/2", "https://a.test/shop/4"),
    }
    assert counters["urls_dropped.other_host"] == 1
    config = config_of(name, sitemap__strict__parsing=False)
    read(directory, config, f"{A}/shop/s.xml")
    assert f"{B}/3" in records_of(directory)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("is_known", [True, False])
def test_urls_of_another_host_are_taken_where_its_robots_txt_names_the_sitemap(
    tmp_path: Path, web: SitemapWeb, name: str, tasks: int, is_known: bool
) -> None:
    """Also where nobody has asked that host so far, and where it names an index above."""
    web.pages = {
        f"{A}/robots.txt": robots(f"{A}/index.xml"),
        f"{A}/index.xml": index(f"{A}/all/s.xml"),
        f"{A}/all/s.xml": urlset(f"{A}/1", f"{B}/2", f"{C}/3"),
        f"{B}/robots.txt": robots(f"{A}/index.xml"),
        f"{C}/robots.txt": robots(),
    }
    directory = known(tmp_path, f"{A}/", *([f"{B}/"] if is_known else []))
    counters = read(directory, config_of(name), hosts=True, tasks=tasks).report.counters
    found = records_of(directory).keys()
    assert {f"{A}/1", f"{B}/2"} <= found
    assert f"{C}/3" not in found
    assert counters["urls_dropped.other_host"] == 1
    assert web.asked.count(f"{A}/all/s.xml") == 1
    assert f"{C}/sitemap.xml" not in web.asked


def test_no_more_foreign_hosts_are_asked_than_the_bound_says(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    urls = [f"http://h{number}.test/" for number in range(50)]
    web.pages = {f"{A}/sitemap.xml": urlset(f"{A}/1", *urls)}
    config = config_of(name, sitemap__max__cross__hosts=3)
    counters = read(known(tmp_path, f"{A}/"), config, hosts=True).report.counters
    assert sum("h" in url.split("/")[2].split(".")[0] for url in web.asked) == 3
    assert counters["urls_dropped.other_host"] == 50
    assert counters["hosts_left_out.cross"] == 47


def test_a_sitemap_on_another_host_may_list_what_its_index_may(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    """As where the sitemaps of a shop are in an object store; its robots.txt vouches for them."""
    web.pages = {
        f"{A}/robots.txt": robots(f"{A}/index.xml"),
        f"{A}/index.xml": index(f"{B}/store/a.xml.gz", f"{C}/no.xml"),
        f"{B}/store/a.xml.gz": gzip.compress(urlset(f"{A}/1", f"{B}/2").encode()),
    }
    files = {"prefix.txt": f"{A}/\n{B}/\n"}
    config = config_of(
        name, files, urlfilter__order=["prefix"], urlfilter__prefix__file="prefix.txt"
    )
    directory = known(tmp_path, f"{A}/")
    counters = read(directory, config, hosts=True).report.counters
    assert records_of(directory).keys() == {f"{A}/", f"{A}/1"}
    assert counters["sitemaps_dropped.filtered"] == 1
    assert not any(url.startswith(C) for url in web.asked)


# one command asks at a time


def test_nobody_is_asked_while_a_fetch_of_the_crawl_asks(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.pages[f"{A}/sitemap.xml"] = urlset(f"{A}/1")
    directory, config = known(tmp_path, f"{A}/"), config_of(name)
    with (
        directory.fetching("fetch", config, SystemClock()),
        pytest.raises(Locked, match="fetching is locked: fetch by"),
    ):
        read(directory, config, hosts=True)
    assert not web.asked
    read(directory, config, hosts=True)
    assert web.asked


# bounds


def test_indexes_that_list_each_other_come_to_an_end(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.pages = {f"{A}/sitemap.xml": index(f"{A}/1.xml", f"{A}/sitemap.xml")}
    web.pages |= {f"{A}/{n}.xml": index(f"{A}/{n + 1}.xml", f"{A}/1.xml") for n in range(1, 99)}
    with pytest.raises(NothingToDo, match="sitemaps_dropped.too_deep 1"):
        read(known(tmp_path, f"{A}/"), config_of(name), hosts=True)
    assert len(web.asked) == 5  # robots.txt, and indexes 0 to 3


def test_a_host_has_so_many_sitemaps_and_urls_and_no_more(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    parts = [f"{A}/{number}.xml" for number in range(10)]
    web.pages = {f"{A}/sitemap.xml": index(*parts)}
    web.pages |= {part: urlset(*(f"{part}/{n}" for n in range(10))) for part in parts}
    config = config_of(
        name,
        sitemap__max__sitemaps__per__host=6,
        sitemap__max__urls=8,
        sitemap__max__urls__per__host=35,
    )
    directory = known(tmp_path, f"{A}/")
    counters = read(directory, config, hosts=True, tasks=1).report.counters
    # eight of the index's ten entries are read, and the index is one of the six itself
    assert counters["sitemaps_dropped.too_many"] == 3
    # then 8, 8, 8 and the 3 that are left of 35 entries
    assert counters["sitemaps_read"] == 5
    assert counters["sitemaps_failed.too_many_urls"] == 1
    assert counters["urls_new"] == 27
    assert counters["sitemaps_cut"] == 5
    # the other entries of the index are no URLs of pages
    assert counters["sitemaps_dropped.over_limit"] == 2
    dropped = [count for name, count in counters.items() if name.startswith("urls_dropped.")]
    assert counters["urls_listed"] == 27 + sum(dropped)


def test_a_bomb_is_read_as_far_as_the_bound_goes(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    bomb = gzip.compress(urlset(f"{A}/1").encode()[:-9] + b" " * 50_000_000)
    web.pages = {f"{A}/sitemap.xml": bomb, f"{A}/robots.txt": robots()}
    config = config_of(name, sitemap__size__max=100_000)
    directory = known(tmp_path, f"{A}/")
    counters = read(directory, config, hosts=True).report.counters
    assert counters["sitemaps_cut"] == 1
    assert f"{A}/1" in records_of(directory)


def test_redirects_are_followed_and_counted(tmp_path: Path, web: SitemapWeb, name: str) -> None:
    web.pages = {f"{B}/new/s.xml": urlset(f"{A}/1", f"{B}/new/2", f"{B}/3")}
    web.redirects = {
        f"{A}/sitemap.xml": f"{A}/moved.xml",
        f"{A}/moved.xml": f"{B}/new/s.xml",
        f"{C}/sitemap.xml": f"{C}/sitemap.xml?1",
        **{f"{C}/sitemap.xml?{n}": f"{C}/sitemap.xml?{n + 1}" for n in range(1, 9)},
    }
    directory = known(tmp_path, f"{A}/", f"{C}/")
    counters = read(directory, config_of(name), hosts=True).report.counters
    assert {f"{A}/1", f"{B}/new/2"} < records_of(directory).keys()
    assert counters["urls_dropped.outside_folder"] == 1
    assert counters["redirects_dropped.too_many"] == 1
    assert len([url for url in web.asked if url.startswith(f"{C}/sitemap.xml")]) == 4


def test_a_robots_txt_on_the_server_of_another_task_is_asked_for_at_the_end(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.redirects = {f"{A}/robots.txt": f"{B}/robots-of-a.txt"}
    web.pages = {
        f"{B}/robots-of-a.txt": robots(f"{A}/s.xml"),
        f"{A}/s.xml": urlset(f"{A}/1"),
        f"{B}/sitemap.xml": urlset(f"{B}/1"),
    }
    directory = known(tmp_path, f"{A}/", f"{B}/")
    counters = read(directory, config_of(name), hosts=True).report.counters
    assert {f"{A}/1", f"{B}/1"} < records_of(directory).keys()
    assert counters["robots_elsewhere"] == 1
    assert not any("not_asked" in reason for reason, count in counters.items() if count)


def test_what_is_no_sitemap_has_a_counted_reason(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    bodies = {
        "empty": b"",
        "not_a_sitemap": b"<html><body>Nothing here</body></html>",
        "bad_gzip": gzip.compress(b"")[:12],
    }
    urls = [f"http://{reason.replace('_', '-')}.test/s.xml" for reason in bodies]
    web.pages = dict(zip(urls, bodies.values(), strict=True))
    web.pages[f"{A}/s.xml"] = urlset(f"{A}/1", "no url", "javascript:x")
    counters = read(
        CrawlDir(str(tmp_path / "c")), config_of(name), f"{A}/s.xml", *urls
    ).report.counters
    assert {reason: counters[f"sitemaps_failed.{reason}"] for reason in bodies} == dict.fromkeys(
        bodies, 1
    )
    dropped = sum(count for reason, count in counters.items() if "urls_dropped" in reason)
    assert counters["urls_listed"] == counters["urls_new"] + dropped == 3


def test_a_sitemap_at_which_the_reader_fails_does_not_cost_the_others(
    tmp_path: Path, web: SitemapWeb, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(url: str, *arguments: Any, **others: Any) -> Any:
        if url == f"{A}/sitemap.xml":
            raise RecursionError
        return sitemap_of_body(url, *arguments, **others)

    monkeypatch.setattr("crawl.phases.sitemap.tasks.session.sitemap_of_body", fails)
    web.pages = {f"{host}/sitemap.xml": urlset(f"{host}/1") for host in (A, B)}
    directory = known(tmp_path, f"{A}/", f"{B}/")
    counters = read(directory, config_of(name), hosts=True, tasks=1).report.counters
    assert counters["sitemaps_failed.reader_error"] == 1
    assert f"{B}/1" in records_of(directory)


def test_a_redirect_to_a_host_whose_robots_txt_is_elsewhere_is_followed_at_the_end(
    tmp_path: Path, web: SitemapWeb, name: str
) -> None:
    web.redirects = {
        f"{A}/sitemap.xml": f"{B}/s.xml",
        f"{B}/robots.txt": f"{C}/robots-of-b.txt",
    }
    web.pages = {
        f"{C}/robots-of-b.txt": robots(),
        f"{B}/s.xml": urlset(f"{A}/1", f"{B}/2"),
        f"{C}/sitemap.xml": urlset(f"{C}/3"),
    }
    directory = known(tmp_path, f"{A}/", f"{B}/", f"{C}/")
    read(directory, config_of(name), hosts=True)
    assert {f"{A}/1", f"{B}/2", f"{C}/3"} < records_of(directory).keys()
