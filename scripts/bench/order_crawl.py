"""A simulated crawl in rounds whose order is the project's own scoring: its chain of plugins is
asked what generate, parse and updatedb ask it. Fetching is looking up a page's links."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from order_web import Floats, Nodes, Web

from crawl.config import Config
from crawl.counters import Counters
from crawl.graph.settings import LINK_ANALYZE_DOMAIN_DAMPING
from crawl.interfaces.scoring import Links
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.status import Status
from tests.graph.reference.aggregate import aggregate
from tests.graph.reference.array_edges import ArrayEdges
from tests.graph.reference.domain_rank import domain_rank
from tests.graph.reference.harmonic import harmonic_centrality
from tests.graph.reference.page_rank import RankOptions, page_rank

PLAIN = CrawlDatum(Status.LINKED, 0, fetch_interval=60)
SEED = CrawlDatum(Status.INJECTED, 0, score=1.0)
ITERATIONS = RankOptions(tolerance=1e-6, max_iterations=20)


@dataclass(frozen=True)
class Order:
    """A setting of `scoring.filter.order`, and what is computed from the graph for it."""

    name: str
    plugins: str
    updates_scores: bool = False
    """`webgraph`, `linkrank --pagerank` and `scoreupdater`."""
    by_domain: bool = False
    """`linkrank --pagerank --by-domain`; a host of the web is a domain."""
    host_ranks: str = ""
    """What the table of host ranks has: `mean-rank` or `harmonic`."""
    every: int = 1
    """Rounds from one computation to the next."""


@dataclass
class Crawl:
    """What the crawler knows."""

    web: Web
    order: Order
    work: Path
    random: np.random.Generator
    scores: npt.NDArray[np.float32] = field(init=False)
    metadata: dict[int, dict[str, str]] = field(default_factory=dict)
    fetched_in: list[Nodes] = field(default_factory=list)
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        web = self.web
        self.scores = np.zeros(web.pages, dtype=np.float32)
        self.is_known = np.zeros(web.pages, dtype=np.bool_)
        self.is_fetched = np.zeros(web.pages, dtype=np.bool_)
        self.ties = self.random.permutation(web.pages)
        self.names = [f"h{number}.com" for number in range(web.host_count)]
        self.dictionary = pa.array(self.names)
        self.sources: list[Nodes] = []
        self.destinations: list[Nodes] = []
        self.chain = self._chain({})
        for page in web.seeds.tolist():
            self.scores[page] = self.chain.injected_score(self.url(page), SEED, self.counters).score
        self.is_known[web.seeds] = True

    def _chain(self, more: dict[str, object]) -> ScoringChain:
        return ScoringChain.from_config(
            Config.of({"scoring.filter.order": self.order.plugins, **more})
        )

    def url(self, page: int) -> str:
        return f"http://{self.names[self.web.host_of[page]]}/{page}"

    def rows(self, pages: Nodes) -> pa.Table:
        """Records of the CrawlDb, as far as the plugins read them."""
        hosts = pa.array(self.web.host_of[pages].astype(np.int32))
        status = np.where(self.is_fetched[pages], Status.DB_FETCHED, Status.DB_UNFETCHED)
        columns: dict[str, Any] = {
            "host": pa.DictionaryArray.from_arrays(hosts, self.dictionary),
            "status": pa.array(status.astype(np.int8)),
            "score": pa.array(self.scores[pages]),
        }
        return pa.table(columns)

    # --- generate ----------------------------------------------------------------------
    def generate(self, most: int) -> Nodes:
        candidates = np.flatnonzero(self.is_known & ~self.is_fetched)
        values = self.chain.sort_values(self.rows(candidates), self.counters).to_numpy()
        return candidates[np.lexsort((self.ties[candidates], -values))[:most]]

    # --- fetch, parse ------------------------------------------------------------------
    def fetch(self, pages: Nodes) -> tuple[Nodes, npt.NDArray[np.float32], list[dict[str, str]]]:
        """Where the links of the pages lead, what scores and, if any, what metadata they bear."""
        chain, counters = self.chain, self.counters
        first, links = self.web.first_link, self.web.destinations
        to: list[npt.NDArray[np.int64]] = []
        given: list[float] = []
        marks: list[dict[str, str]] = []
        wants_marks = not chain.can_update_by_column
        for page in pages.tolist():
            targets = links[first[page] : first[page + 1]]
            if not len(targets):
                continue
            url = self.url(page)
            datum = CrawlDatum(Status.DB_FETCHED, 0, score=float(self.scores[page]))
            content = Content(url, b"", metadata=chain.before_parse(url, datum, counters))
            parse = chain.after_parse(url, content, Parse(url), counters)
            urls = [self.url(target) for target in targets.tolist()]
            plain = chain.initial_score(urls[0], PLAIN, counters)
            shared = chain.distribute(
                parse, content, [(each, plain) for each in urls], len(urls), counters
            )
            to.append(targets)
            given.extend(link.score for _, link in shared)
            if wants_marks:
                marks.extend(dict(link.metadata) for _, link in shared)
        sources, destinations = self.web.links_of(pages)
        self.sources.append(sources)
        self.destinations.append(destinations)
        none = np.zeros(0, dtype=np.int64)
        return np.concatenate([none, *to]), np.array(given, dtype=np.float32), marks

    # --- updatedb ----------------------------------------------------------------------
    def update(
        self, to: Nodes, scores: npt.NDArray[np.float32], marks: list[dict[str, str]]
    ) -> None:
        touched, owner = np.unique(to, return_inverse=True)
        new = touched[~self.is_known[touched]]
        if self.chain.can_start_by_column:
            self.scores[new] = self.chain.initial_scores(self.rows(new), self.counters)
        if self.chain.can_update_by_column:
            links = Links(owner, scores)
            self.scores[touched] = self.chain.update_scores(
                self.rows(touched), links, 0, self.counters
            )
        else:
            self._update_by_row(touched, owner, scores, marks)
        self.is_known[touched] = True

    def _update_by_row(
        self,
        touched: Nodes,
        owner: Nodes,
        scores: npt.NDArray[np.float32],
        marks: list[dict[str, str]],
    ) -> None:
        inlinks: defaultdict[int, list[CrawlDatum]] = defaultdict(list)
        for at, score, mark in zip(owner.tolist(), scores.tolist(), marks, strict=True):
            inlinks[at].append(CrawlDatum(Status.LINKED, 0, score=score, metadata=mark))
        for at, page in enumerate(touched.tolist()):
            status = Status.DB_FETCHED if self.is_fetched[page] else Status.DB_UNFETCHED
            datum = CrawlDatum(
                status, 0, score=float(self.scores[page]), metadata=self.metadata.get(page, {})
            )
            old = datum if self.is_known[page] else None
            after = self.chain.update_score(
                self.url(page), old, datum, inlinks[at], 0, self.counters
            )
            self.scores[page] = after.score
            if after.metadata:
                self.metadata[page] = dict(after.metadata)

    # --- webgraph, linkrank, scoreupdater ----------------------------------------------
    def learn(self, round_number: int) -> None:
        """What the graph tells, if it is time to compute it."""
        order = self.order
        is_time = round_number < 6 or round_number % order.every == 0
        if not self.sources or not is_time or not (order.updates_scores or order.host_ranks):
            return
        graph = self.known_graph()
        if order.host_ranks != "harmonic":
            known = self.is_known.astype(np.float64)
            ranks = self._ranks(graph, known) * known.sum()
        if order.updates_scores:
            self.scores[self.is_known] = ranks[self.is_known]
        if order.host_ranks:
            hosts, count = self.web.host_of, self.web.host_count
            known_pages = np.bincount(hosts[self.is_known], minlength=count)
            if order.host_ranks == "harmonic":
                by_host = harmonic_centrality(aggregate(graph, hosts, count)[0]).centralities + 1.0
            else:
                sums = np.bincount(hosts, weights=ranks, minlength=count)
                by_host = sums / np.maximum(known_pages, 1)
            self._publish(by_host, known_pages > 0, round_number)

    def _ranks(self, graph: ArrayEdges, known: Floats) -> Floats:
        if not self.order.by_domain:
            return page_rank(graph, ITERATIONS, teleport=known).ranks
        hosts = self.web.host_count
        # pages that are not known are none of any domain
        domain_of = np.where(self.is_known, self.web.host_of, hosts)
        damping = Config()[LINK_ANALYZE_DOMAIN_DAMPING]
        options = replace(ITERATIONS, damping=damping)
        return domain_rank(graph, domain_of, hosts + 1, options, teleport=known).ranks

    def known_graph(self) -> ArrayEdges:
        sources, destinations = np.concatenate(self.sources), np.concatenate(self.destinations)
        order = np.argsort(destinations, kind="stable")
        bounds = np.array([0, self.web.pages])
        return ArrayEdges(sources[order], destinations[order], bounds)

    def _publish(self, by_host: Floats, is_known: npt.NDArray[np.bool_], number: int) -> None:
        name = f"ranks-{self.order.name}-{number}.parquet"
        hosts = [self.names[host] for host in np.flatnonzero(is_known).tolist()]
        pq.write_table(pa.table({"host": hosts, "rank": by_host[is_known]}), self.work / name)
        self.chain = self._chain({"scoring.host.ranks.file": str(self.work / name)})


def run_crawl(
    crawl: Crawl, budget: int, a_round: int, choose: Callable[[Crawl, int], Nodes] | None = None
) -> Nodes:
    """The pages in the order in which they are fetched. A round takes `a_round` pages, but no
    more than half of those that wait while they are few. `choose` stands in for generate, where
    an order is none of scoring's; then nothing is scored."""
    count = round_number = 0
    while count < budget:
        waiting = int((crawl.is_known & ~crawl.is_fetched).sum())
        if not waiting:
            break
        most = min(a_round, budget - count, max(waiting // 2, len(crawl.web.seeds)))
        if choose is None:
            crawl.learn(round_number)
            pages = crawl.generate(most)
            to, scores, marks = crawl.fetch(pages)
            crawl.is_fetched[pages] = True
            crawl.update(to, scores, marks)
        else:
            pages = choose(crawl, most)
            crawl.is_fetched[pages] = True
            crawl.is_known[crawl.web.links_of(pages)[1]] = True
        crawl.fetched_in.append(pages)
        count += len(pages)
        round_number += 1
    if any(crawl.counters.values()):
        raise RuntimeError(f"a plugin failed: {dict(crawl.counters)}")
    return np.concatenate(crawl.fetched_in)
