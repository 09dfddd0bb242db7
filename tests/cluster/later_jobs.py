"""The jobs that follow the rounds of a crawl, run in turn, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from tests.cluster.standalone import Submitted
from tests.cluster.submitting import Site, finished, said

Line = tuple[str, ...]
MAY_FIND_NOTHING = ("dust", "mirrors")
"""They end with 1 where a web has nothing of the kind."""
ONE_MORE = "http://one.more.example.org/"
"""What inject brings."""


class LaterJobs:
    """Every job but those of the rounds, with the arguments that a small crawl needs."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._crawl = site.crawl
        self._merged = f"{site.crawl}-links"
        self._exported = f"{site.crawl}-exported"
        self._seeds = site.folder / "more.txt"
        self._seeds.write_text(f"{ONE_MORE}\n")
        self.said: dict[str, str] = {}
        """What each job printed that was run so far."""

    def on_records(self) -> list[Line]:
        """Change no record."""
        return [
            ("rebucket", self._crawl, "--buckets", "8"),
            ("domainstats", self._crawl),
            ("crawlcomplete", self._crawl),
            ("protocolstats", self._crawl),
            ("dust", self._crawl),
            ("mirrors", self._crawl),
        ]

    def on_links(self) -> list[Line]:
        return [
            ("readdb", self._crawl, "--stats"),
            ("invertlinks", self._crawl, "-D", "linkdb.ignore.internal.links=false"),
            ("webgraph", self._crawl, "-D", "link.ignore.internal.host=false"),
            ("linkrank", self._crawl),
            ("hostgraph", self._crawl),
            ("nodedumper", self._crawl, "--scores", "--top", "3"),
            ("linkstats", self._crawl),
            ("mergelinkdb", self._merged, self._crawl),
            ("readlinkdb", self._crawl, "--dump", f"{self._exported}-links"),
        ]

    def that_change_records(self) -> list[Line]:
        """After the links."""
        return [
            ("sitemap", self._crawl, "--json"),
            ("scoreupdater", self._crawl),
            ("dedup", self._crawl),
            ("updatehostdb", self._crawl),
            ("readhostdb", self._crawl, "--top", "3"),
            ("index", self._crawl, "-D", "index.writers=jsonl"),
            ("clean", self._crawl, "-D", "index.writers=jsonl"),
            ("export", self._crawl, self._exported),
            ("refresh", self._crawl, "*", "--json"),
            ("inject", self._crawl, str(self._seeds)),
        ]

    def take(self, submitted: Submitted) -> None:
        """Waits for jobs, which must have ended well."""
        for name, (code, output) in said(finished(submitted)).items():
            assert code in ((0, 1) if name in MAY_FIND_NOTHING else (0,)), f"{name}: {output}"
            self.said[name] = output

    def assert_done(self, known: Mapping[str, CrawlDatum]) -> None:
        """`known`: the records before."""
        assert "TOTAL urls" in self.said["readdb"] and str(len(known)) in self.said["readdb"]
        assert any(url in self.said["nodedumper"] for url in known)
        assert "response_ms_p95" in self.said["readhostdb"]
        output = self.said["sitemap"]
        counters = json_in(output)["report"]["counters"]
        assert 0 < counters["urls_updated"] <= counters["urls_known"]
        assert json_in(self.said["refresh"])["report"]["counters"]["made_due"] > 0
        records, _ = self._site.state()
        assert records.pop(ONE_MORE).status is Status.DB_UNFETCHED
        listed = {url for url, record in records.items() if "sitemap.lastmod" in record.metadata}
        assert records.keys() == known.keys() and listed
        assert not {url for url, record in known.items() if "sitemap.lastmod" in record.metadata}
        made = {each.name: each.current() for each in self._site.directory.datasets()}
        for name in ("linkdb", "webgraph", "hostdb", "hostgraph", "index"):
            snapshot = made[name]
            assert snapshot is not None and snapshot.rows, name
        merged = CrawlDir(self._address(self._merged))
        (linkdb,) = [each.current() for each in merged.datasets() if each.name == "linkdb"]
        assert linkdb is not None and made["linkdb"] is not None
        assert linkdb.rows == made["linkdb"].rows
        assert Folder(self._address(self._exported)).exists("_SUCCESS")

    def _address(self, place: str) -> str:
        return place if "://" in place else str(self._site.folder / place)


def json_in(output: str) -> dict[str, Any]:
    """What a job printed as JSON; Spark writes what it says to standard error there, too."""
    answer, _ = json.JSONDecoder().raw_decode(output[output.index("{\n") :])
    found: dict[str, Any] = answer
    return found
