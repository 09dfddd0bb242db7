"""The link graph as methods: webgraph, linkrank, nodedumper and nodereader."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, overload

from crawl.clock import SystemClock
from crawl.driver.prechecks import require_segments, require_unlocked
from crawl.errors import UsageError
from crawl.facade.arguments import (
    check_number,
    check_text,
    check_whole_number,
    one_of,
    segment_names,
)
from crawl.facade.base import Handle
from crawl.facade.results import PhaseResult, phase_result


class Graph(Handle):
    """Which page links to which, and what follows from it."""

    def webgraph(
        self,
        segments: Iterable[str] = (),
        *,
        filter: bool = False,
        normalize: bool = False,
        again: bool = False,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Takes the links of parsed segments into the link graph: of the named ones, or of all
        that are not in it yet. `again`: also named ones that are in it already.

            >>> web.webgraph().counters["nodes"]
        """
        from crawl.model.derived_tables import WEBGRAPH
        from crawl.phases.webgraph import run as webgraph
        from crawl.phases.webgraph.run import WebGraphOptions

        with self._working():
            options = WebGraphOptions(
                segment_names(segments),
                filter=filter,
                normalize=normalize,
                again=again,
                steal_lock=steal_lock,
            )
            webgraph.check(self._config, options)
            require_segments(self._directory, options.segments)
            webgraph.choose(self._directory, options)
            self._directory.require_writable()
            folder = self._directory.dataset(WEBGRAPH).folder
            require_unlocked(folder, self._config, steal_lock=steal_lock)
            with self._runner() as runner:
                done = webgraph.run(runner, self._directory, self._config, options, SystemClock())
        return phase_result(
            done.report,
            snapshot=done.graph.number,
            segments=done.segments,
            remarks=(*done.remarks, done.took_over),
        )

    def linkrank(
        self,
        *,
        iterations: int | None = None,
        pagerank: bool = False,
        tolerance: float | None = None,
        by_domain: bool = False,
        seeds: str | Path | None = None,
        deny: str | Path | None = None,
        steal_lock: bool = False,
    ) -> PhaseResult:
        """Ranks the pages of the link graph by the links to them: by LinkRank, or by `pagerank`,
        until the ranks change by less than `tolerance` in all. `by_domain`: ranks for the order of
        a crawl, to which spam that links to itself means little. `seeds` and `deny` are files of
        URLs, hosts or domains: where the surfer begins anew, and what hands no rank on.

            >>> web.linkrank(iterations=20)
            >>> web.linkrank(pagerank=True, tolerance=1e-8).counters["iterations"]
        """
        from crawl.model.derived_tables import WEBGRAPH
        from crawl.phases.linkrank import run as linkrank
        from crawl.phases.linkrank.run import LinkRankOptions
        from crawl.rounds.derived import behind_lines

        with self._working():
            check_whole_number("iterations", iterations)
            check_number("tolerance", tolerance)
            options = LinkRankOptions(
                iterations=iterations,
                pagerank=pagerank,
                tolerance=tolerance,
                by_domain=by_domain,
                seeds=None if seeds is None else str(seeds),
                deny=None if deny is None else str(deny),
                steal_lock=steal_lock,
            )
            linkrank.kernel_of(self._config, options)
            linkrank.lists_of(self._config, options)
            graph = linkrank.require_graph(self._directory)
            lacking = behind_lines(self._directory, ("webgraph",))
            self._directory.require_writable()
            folder = self._directory.dataset(WEBGRAPH).folder
            require_unlocked(folder, self._config, steal_lock=steal_lock)
            with self._runner(rows=graph.rows) as runner:
                done = linkrank.run(runner, self._directory, self._config, options, SystemClock())
        return phase_result(
            done.report,
            snapshot=done.graph.number,
            remarks=(*done.remarks, *lacking, done.took_over),
        )

    def nodereader(self, url: str, *, links: int = 0) -> dict[str, Any] | None:
        """What the link graph knows of a page; None where it does not know it. `links`: how many
        of the pages that link to it, and that it links to, are named.

            >>> web.nodereader("https://example.org/", links=5)
        """
        from dataclasses import asdict

        from crawl.readers.nodereader.graph import find_node

        with self._working():
            check_text("url", url)
            check_whole_number("links", links, least=0)
            found = find_node(self._directory, url, links)
        return None if found is None else asdict(found)

    @overload
    def nodedumper(
        self, *, by: str = "scores", top: int, group: str | None = None, combine: str = "sum"
    ) -> list[tuple[str, float]]: ...

    @overload
    def nodedumper(
        self,
        output: str | Path,
        *,
        by: str = "scores",
        top: int | None = None,
        group: str | None = None,
        combine: str = "sum",
        format: str = "parquet",
        overwrite: bool = False,
    ) -> int: ...

    def nodedumper(
        self,
        output: str | Path | None = None,
        *,
        by: str = "scores",
        top: int | None = None,
        group: str | None = None,
        combine: str = "sum",
        format: str | None = None,
        overwrite: bool = False,
    ) -> list[tuple[str, float]] | int:
        """The `top` pages with the highest scores, or the most `inlinks` or `outlinks`, of the
        whole graph, with these; or their hosts or domains (`group`), by the `sum` or the `max` of
        their pages. With an `output` the list may be of any length and is written to files of a
        new folder, which one behind the other are in order; their lines are counted. `format`:
        parquet, json or text.

            >>> web.nodedumper(top=10, by="inlinks", group="domain")
            >>> web.nodedumper("ranks", by="scores")
        """
        check_whole_number("top", top)
        if output is None and (format is not None or overwrite):
            raise UsageError("format and overwrite go with an output")
        rows, listed = self._list_nodes(
            by,
            top=top,
            group=group,
            combine=combine,
            output=None if output is None else str(output),
            format="parquet" if format is None else format,
            overwrite=overwrite,
        )
        return list(listed) if output is None else rows

    def _list_nodes(
        self,
        by: str,
        *,
        top: int | None,
        group: str | None,
        combine: str,
        output: str | None = None,
        format: str = "text",
        separator: str = "\t",
        overwrite: bool = False,
    ) -> tuple[int, tuple[tuple[str, float], ...]]:
        from crawl.driver.output_folder import make_room
        from crawl.phases.nodedumper import run as nodedumper
        from crawl.phases.nodedumper.run import NodeDumperOptions
        from crawl.phases.webgraph.tasks.dump import ListFormat, NodeGroup, NodeValue
        from crawl.storage.folder import Folder, absolute

        with self._working():
            options = NodeDumperOptions(
                one_of("by", NodeValue, by),
                top=top,
                group=None if group is None else one_of("group", NodeGroup, group),
                is_sum=one_of("combine", Combine, combine) is Combine.SUM,
                output=None if output is None else absolute(output),
                format=one_of("format", ListFormat, format),
                separator=separator,
            )
            graph = nodedumper.check(self._directory, options)
            if options.output is not None:
                make_room(Folder(options.output), overwrite=overwrite)
            with self._runner(rows=graph.rows) as runner:
                done = nodedumper.run(runner, self._directory, options)
        return done.rows, done.listed


class Combine(StrEnum):
    """What is made of the values of a host's or domain's pages."""

    SUM = "sum"
    MAX = "max"
