"""Statistics of a crawl as methods: names, completeness, answers, links."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.driver.prechecks import require_segments
from crawl.errors import NoSnapshot, UsageError
from crawl.facade.arguments import check_whole_number, segment_names
from crawl.facade.readers import Readers
from crawl.storage.manifest import Snapshot

if TYPE_CHECKING:
    from crawl.readers.webstats.name_counts import NameSummary

COMPLETE_BY = ("host", "domain")


class WebStats(Readers):
    """Answers are plain values, ready for JSON; `plot` names a picture to draw (.svg, .png,
    .pdf)."""

    def domainstats(
        self,
        by: str = "host",
        *,
        top: int = 50,
        plot: str | Path | None = None,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """Fetched pages by host, domain, suffix or tld: of all together, and of the largest.

        >>> web.domainstats("domain", top=10)["top"]
        """
        from crawl.readers.webstats.name_counts import NameKind, fetched_of

        known = [str(kind) for kind in NameKind]
        found = self._names(by, known, top, plot, snapshot, f"Pages by {by}")
        fetched = _fetched(found)
        return {
            "by": by,
            "names": found.names,
            "names_fetched": found.begun_names,
            "fetched": fetched,
            "not_fetched": found.statuses.total() - fetched,
            "top": [
                {"name": name, "fetched": fetched_of(counts), "urls": sum(counts)}
                for name, counts in found.top
            ],
        }

    def crawlcomplete(
        self,
        by: str = "host",
        *,
        top: int = 50,
        plot: str | Path | None = None,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """How much of each host or domain is done: fetched, or known to be a redirect, a duplicate,
        gone, not parsable or an orphan. `unfetched` is what waits to be fetched, `not_fetched` all
        that is not fetched, as Nutch counts.

        >>> web.crawlcomplete()["complete"]
        """
        from crawl.model.status import DB_STATUSES
        from crawl.readers.webstats.name_counts import completeness

        found = self._names(by, COMPLETE_BY, top, plot, snapshot, f"Completeness by {by}")
        return {
            "by": by,
            "names": found.names,
            "complete": found.whole_names,
            "begun": found.begun_names,
            **completeness([found.statuses[status.label] for status in DB_STATUSES]),
            "top": [{"name": name, **completeness(counts)} for name, counts in found.top],
        }

    def protocolstats(
        self, *, plot: str | Path | None = None, snapshot: int | None = None
    ) -> dict[str, Any]:
        """URLs by the code of their last answer, and those of each code by status.

        >>> web.protocolstats()["codes"]["200"]
        """
        from crawl.model.status import status_label
        from crawl.readers.webstats import run as statistics
        from crawl.readers.webstats.pictures import check_picture, draw_codes

        with self._working():
            if plot is not None:
                check_picture(str(plot))

            def count(state: Snapshot) -> dict[tuple[str, int], int]:
                with self._runner(rows=state.rows) as runner:
                    return statistics.count_answers(runner, self._directory, state)

            found = self._read(count, snapshot)
            codes: dict[str, int] = {}
            statuses: dict[str, dict[str, int]] = {}
            for (code, status), urls in sorted(found.items()):
                codes[code] = codes.get(code, 0) + urls
                statuses.setdefault(code, {})[status_label(status)] = urls
            if plot is not None:
                title = f"{sum(codes.values()):,} URLs by the code of their last answer"
                draw_codes(str(plot), codes, title)
        return {"urls": sum(codes.values()), "codes": codes, "statuses": statuses}

    def linkstats(
        self,
        segments: Iterable[str] | str = (),
        *,
        top: int = 20,
        plot: str | Path | None = None,
    ) -> dict[str, Any]:
        """Links of the parsed pages, each page as it was parsed last: how many pages have how
        many links, how many URLs how many links to them, and the most linked URLs.

            >>> web.linkstats(top=5)["top"]
        """
        from crawl.readers.webstats import run as statistics
        from crawl.readers.webstats.pictures import check_picture, draw_degrees

        with self._working():
            check_whole_number("top", top, least=0)
            names = segment_names(segments)
            if plot is not None:
                check_picture(str(plot))
            self._directory.require_crawldb()
            require_segments(self._directory, names)
            files = statistics.parse_files(statistics.parsed_segments(self._directory, names))
            if not files:
                raise NoSnapshot(f"{self.address} has no segment that is parsed")
            # a page has tens of links
            with self._runner(rows=20 * sum(file.rows for file in files)) as runner:
                found = statistics.count_links(runner, files, top)
            outlinks, inlinks = found.outlinks, found.inlinks
            if plot is not None:
                title = f"{outlinks.links:,} links of {outlinks.pages:,} pages"
                draw_degrees(str(plot), inlinks.degrees, outlinks.degrees, title)
        return {
            "segments": found.segments,
            "pages": outlinks.pages,
            "links": outlinks.links,
            "internal": outlinks.internal,
            "external": outlinks.links - outlinks.internal,
            "linked_urls": inlinks.urls,
            "outdegrees": _distribution(outlinks.degrees),
            "indegrees": _distribution(inlinks.degrees),
            "top": [{"url": url, "inlinks": links} for links, url in found.top],
        }

    def _names(
        self,
        by: str,
        known: Iterable[str],
        top: int,
        plot: str | Path | None,
        snapshot: int | None,
        title: str,
    ) -> NameSummary:
        from crawl.model.status import DB_STATUSES
        from crawl.readers.webstats import run as statistics
        from crawl.readers.webstats.name_counts import NameKind
        from crawl.readers.webstats.pictures import check_picture, draw_names

        with self._working():
            check_whole_number("top", top, least=0)
            if by not in known:
                raise UsageError(f"by: expected one of {', '.join(known)}, got {by!r}")
            if plot is not None:
                check_picture(str(plot))

            def count(state: Snapshot) -> NameSummary:
                with self._runner(rows=state.rows) as runner:
                    kind = NameKind(by)
                    return statistics.count_names(runner, self._directory, state, kind, top)

            found = self._read(count, snapshot)
            if plot is not None:
                labels = [status.label for status in DB_STATUSES]
                bars = [(name, dict(zip(labels, of, strict=True))) for name, of in found.top]
                total = f"{_fetched(found):,} pages of {found.names:,} {by}s"
                draw_names(str(plot), by, found.fetched_sizes, bars, f"{title}: {total}")
        return found


def _fetched(found: NameSummary) -> int:
    from crawl.readers.webstats.name_counts import FETCHED

    return sum(found.statuses[status.label] for status in FETCHED)


def _distribution(degrees: dict[int, int]) -> dict[str, int]:
    return {str(degree): degrees[degree] for degree in sorted(degrees)}
