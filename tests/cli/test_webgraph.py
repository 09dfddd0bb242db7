"""The link graph through the command line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.cli.calling import Caller
from tests.phases.linked_pages import add_parse
from tests.phases.made import datum, make_crawldb, records_of

URLS = [f"http://x{n}.org/" for n in range(6)]
PAGES = {url: [URLS[0], URLS[(n + 1) % 6]] for n, url in enumerate(URLS)}


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_links_become_scores(crawl: Caller, tmp_path: Path) -> None:
    where = tmp_path / "c"
    directory = make_crawldb(str(where), {url: datum() for url in URLS})
    add_parse(directory, "20260101000000", PAGES)
    built = crawl("webgraph", where, "-q")
    assert built.code == 0, built.err
    assert "snapshot 1 with 6 pages and 10 links, from 1 new segment" in built.err
    assert ["dropped:", "internal", "host", "1"] in [
        line.split() for line in built.out.splitlines()
    ]
    assert crawl("webgraph", where, "-q").code == 1
    ranked = crawl("linkrank", where, "-q")
    assert "with scores of 6 pages by 10 links, after 10 iterations" in ranked.err
    top = crawl("nodedumper", where, "--scores", "--top", 2, "-q")
    assert [line.split("\t")[0] for line in top.out.splitlines()] == [URLS[0], URLS[1]]
    by_host = crawl("nodedumper", where, "--inlinks", "--group", "host", "--top", 1, "--json", "-q")
    assert by_host.json == [{"name": "x0.org", "value": 5.0}]
    assert crawl("nodedumper", where, "--inlinks", "--output", tmp_path / "out", "-q").code == 0
    assert (tmp_path / "out" / "part-00000.txt").read_text().startswith(f"{URLS[0]}\t5\n")
    again = crawl("nodedumper", where, "--inlinks", "--output", tmp_path / "out", "-q")
    assert again.code == 2 and "--overwrite" in again.err
    updated = crawl("scoreupdater", where, "-q")
    assert "6 URLs scored by links, 0 not in the link graph" in updated.err
    best = max(records_of(directory).items(), key=lambda each: each[1].score)
    assert best[0] == URLS[0]
    node = crawl("nodereader", where, URLS[0], "--links", 9, "--json").json
    assert (node["inlinks"], node["outlinks"]) == (5, 1)
    assert sorted(node["linked_from"]) == URLS[1:]
    assert node["links_to"] == [URLS[1]]
    assert node["score"] == pytest.approx(best[1].score, rel=1e-6)
    text = crawl("nodereader", where, URLS[1])
    assert text.out.splitlines()[0] == URLS[1] and "inlinks   1" in text.out
    absent = crawl("nodereader", where, "http://nowhere.org/")
    assert absent.code == 1 and "is not in the link graph" in absent.err


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_pageranks_and_hosts(crawl: Caller, tmp_path: Path) -> None:
    where = tmp_path / "c"
    directory = make_crawldb(str(where), {url: datum() for url in URLS})
    add_parse(directory, "20260101000000", PAGES)
    assert crawl("webgraph", where, "-q").code == 0
    (tmp_path / "seeds").write_text("x3.org\n")
    (tmp_path / "spam").write_text(f"{URLS[2]}\n")
    lists = ("--seeds", tmp_path / "seeds", "--deny", tmp_path / "spam")
    ranked = crawl("linkrank", where, "--pagerank", *lists, "--json", "-q")
    assert ranked.code == 0, ranked.err
    counters = ranked.json["report"]["counters"]
    assert (counters["seed_pages"], counters["denied_pages"]) == (1, 1)
    top = crawl("nodedumper", where, "--scores", "--top", 6, "--json", "-q").json
    assert sum(each["value"] for each in top) == pytest.approx(1.0, abs=1e-5)
    assert top[0]["name"] in (URLS[0], URLS[3])
    by_domain = crawl("linkrank", where, "--pagerank", "--by-domain", "--json", "-q")
    assert by_domain.code == 0, by_domain.err
    assert by_domain.json["report"]["counters"]["plain_iterations"] > 1
    top = crawl("nodedumper", where, "--scores", "--top", 6, "--json", "-q").json
    assert sum(each["value"] for each in top) == pytest.approx(1.0, abs=1e-5)
    assert top[0]["name"] == URLS[0]
    missing = crawl("nodedumper", where, "--group", "host", "--format", "cc", "--output", "out")
    assert missing.code == 2 and "crawl hostgraph" in missing.err
    hosts = crawl("hostgraph", where, "--top", 2, "-q")
    assert hosts.code == 0, hosts.err
    assert "/hostgraph is now snapshot 1 with 6 hosts and 10 links between them" in hosts.err
    lines = [line.split() for line in hosts.out.splitlines()]
    assert ["1", "x0.org", "5"] in [line[:3] for line in lines]
    again = crawl("hostgraph", where, "--group", "domain", "--centrality", "hyperball", "-q")
    assert again.code == 0 and "/domaingraph is now snapshot 1 with 6 domains" in again.err
    output = tmp_path / "graph"
    dump = ("nodedumper", where, "--group", "host", "--format", "cc", "--output", output, "-q")
    written = crawl(*dump)
    assert written.code == 0 and "wrote 6 hosts and 10 links" in written.err
    assert crawl(*dump).code == 2
    assert crawl(*dump, "--overwrite").code == 0
    text = gzip.decompress((output / "vertices.txt.gz").read_bytes()).decode()
    assert text.splitlines()[:2] == ["0\torg.x0", "1\torg.x1"]


def test_what_cannot_be_done_is_told_in_a_line(crawl: Caller, tmp_path: Path) -> None:
    where = tmp_path / "c"
    directory = make_crawldb(str(where), {url: datum() for url in URLS})
    for command in (
        *(
            "linkrank",
            "linkrank --pagerank --by-domain",
            "scoreupdater",
            "hostgraph --group domain",
        ),
        *("nodedumper --scores --top 3", "nodedumper --group host --format cc --output x"),
        "nodereader x",
    ):
        name, *rest = command.split()
        answer = crawl(name, where, *rest)
        assert answer.code == 2 and "has no link graph yet" in answer.err, answer
    assert crawl("nodedumper", where, "--top", 3).code == 2
    assert crawl("nodedumper", where, "--scores", "--sum").code == 2
    assert crawl("nodedumper", where, "--format", "cc", "--output", "x").code == 2
    assert (
        crawl(
            "nodedumper", where, "--group", "host", "--format", "cc", "--output", "x", "--sum"
        ).code
        == 2
    )
    for options, told in (
        ("--tolerance x --pagerank", "--tolerance"),
        ("--tolerance 0 --pagerank", "above 0"),
        ("--seeds nowhere.txt --pagerank", "nowhere.txt: no such file"),
        ("--deny nowhere.txt", "go with --pagerank"),
        ("--iterations 0", "--iterations"),
    ):
        answer = crawl("linkrank", where, *options.split())
        assert answer.code == 2 and told in answer.err, answer
        assert len(answer.err.splitlines()) == 1
    none = crawl("webgraph", where)
    assert none.code == 2 and "has no segment" in none.err
    add_parse(directory, "20260101000000", PAGES)
    wrong = crawl("webgraph", where, "-D", "link.analyze.damping.factor=2")
    assert wrong.code == 2 and "link.analyze.damping.factor" in wrong.err
