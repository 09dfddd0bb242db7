"""The graphs of hosts and domains as methods."""

from __future__ import annotations

from pathlib import Path

from crawl.clock import SystemClock
from crawl.driver.prechecks import require_unlocked
from crawl.facade.arguments import check_whole_number, one_of
from crawl.facade.base import Handle
from crawl.facade.results import HostGraphResult, reported


class HostGraphs(Handle):
    """Which host links to which, and what follows from it."""

    def hostgraph(
        self,
        *,
        group: str = "host",
        centrality: str | None = None,
        top: int = 20,
        steal_lock: bool = False,
    ) -> HostGraphResult:
        """Makes the graph of hosts, or of the registered domains (`group="domain"`), out of the
        link graph, with harmonic centrality and PageRank. `centrality`: `exact`, or `hyperball`,
        which is an estimate for graphs of any size; None chooses by the size. `top` are returned.

            >>> [host["host"] for host in web.hostgraph().top]
        """
        from crawl.phases.hostgraph import run as hostgraph
        from crawl.phases.hostgraph.run import HostGraphOptions
        from crawl.phases.hostgraph.tasks.centrality import Centrality
        from crawl.phases.linkrank.run import require_graph
        from crawl.phases.webgraph.tasks.dump import NodeGroup
        from crawl.rounds.derived import behind_lines

        with self._working():
            check_whole_number("top", top, least=0)
            options = HostGraphOptions(
                one_of("group", NodeGroup, group),
                None if centrality is None else one_of("centrality", Centrality, centrality),
                top,
                steal_lock,
            )
            hostgraph.check(options)
            pages = require_graph(self._directory)
            lacking = behind_lines(self._directory, ("webgraph",))
            self._directory.require_writable()
            folder = self._directory.dataset(hostgraph.table_of(options.group)).folder
            require_unlocked(folder, self._config, steal_lock=steal_lock)
            with self._runner(rows=pages.rows) as runner:
                done = hostgraph.run(runner, self._directory, self._config, options, SystemClock())
        return HostGraphResult(
            **reported(done.report, remarks=(*lacking, *done.remarks, done.took_over)),
            snapshot=done.graph.number,
            top=done.top,
        )

    def dump_hostgraph(
        self, output: str | Path, *, group: str = "host", overwrite: bool = False
    ) -> tuple[int, int]:
        """Writes the graph of hosts or domains to a new folder in Common Crawl's form (vertices,
        edges and ranks, as text and as Parquet); returns the numbers of vertices and edges.

            >>> web.dump_hostgraph("graph")
        """
        from crawl.driver.output_folder import make_room
        from crawl.phases.hostgraph import dump as graph_dump
        from crawl.phases.hostgraph.run import require_hostgraph
        from crawl.phases.webgraph.tasks.dump import NodeGroup
        from crawl.storage.folder import Folder, absolute

        with self._working():
            wanted = one_of("group", NodeGroup, group)
            graph = require_hostgraph(self._directory, wanted)
            room = Folder(absolute(str(output)))
            make_room(room, overwrite=overwrite, own=graph_dump.OWN_NAMES)
            with self._runner(rows=graph.rows) as runner:
                done = graph_dump.run(runner, self._directory, wanted, room)
        return done.vertices, done.edges
