"""The clusters of a dedup: edges by signature, by nearness and by evidence, each a step of its
own whose edges wait in files, and then the stars that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import NothingToDo
from crawl.interfaces.chains import NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.phases.dedup.rules import CANONICAL, EVIDENCE, REDIRECT, REDIRECTING, Measure, Nearness
from crawl.phases.dedup.tasks.components import (
    ComponentsJob,
    large_star,
    link_nodes,
    send_clusters,
    send_edges,
    send_nodes,
    small_star,
)
from crawl.phases.dedup.tasks.evidence import (
    EvidenceJob,
    RedirectsJob,
    find_named,
    send_canonicals,
    send_namings,
    send_redirects,
)
from crawl.phases.dedup.tasks.near import SketchTaskResult, link_near, send_bands
from crawl.phases.dedup.tasks.pairs import DoubtfulPairs
from crawl.phases.dedup.tasks.parsed_pages import PartFile, send_samples
from crawl.phases.dedup.tasks.records import DedupJob
from crawl.phases.dedup.tasks.sketches import BANDS
from crawl.phases.dedup.tasks.stars import NearJob, StarTask, find_stars, send_star_members
from crawl.rules.redirect import RedirectRules
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.segments import CONTENT, PARSE_DATA, PARSE_TEXT
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import Exchange, Outbox, by_number, numbered
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices

_ROWS_PER_DESTINATION = 2_000_000
"""Keys of sketches that one task compares, about."""
_PAGES_PER_DESTINATION = 100_000
"""That may be near each other and are compared by one task, about."""
_MAX_ROUNDS = 100


@dataclass(slots=True)
class ClusterSteps:
    """Finds edges, one kind after the other."""

    runner: Runner
    crawl_dir: CrawlDir
    job: DedupJob
    slices: Slices
    scratch: Folder
    report: Report
    files: list[str] = field(default_factory=list)
    """With edges."""
    evidence: dict[int, dict[str, str]] = field(default_factory=dict)
    """By slice, and by what is compared: the file that says of which records it speaks."""
    doubtful: DoubtfulPairs = field(default_factory=lambda: DoubtfulPairs(0))
    """Near duplicates that are the least alike, where somebody wants to see them."""

    def by_signature(self) -> None:
        """Records of different slices with the same signature."""
        job = replace(self.job, order=())
        sent = self.runner.exchange(
            partial(send_nodes, job), self._stored(), job.destinations, "dedup: link"
        )
        tasks = numbered(job.destinations)
        for result in sent.run(partial(link_nodes, self.scratch), tasks, "dedup: link"):
            self._take(result.file, result.counters)

    def by_nearness(self, nearness: Nearness) -> None:
        """Near duplicates, of texts or of simhashes."""
        rows = sum(each.rows for each in self.slices.all)
        texts = self.files_of(PARSE_TEXT) if nearness.measure is Measure.JACCARD else []
        if nearness.measure is Measure.JACCARD and not texts:
            raise NothingToDo(
                f"{self.crawl_dir.address}: no segment has parsed texts: --near has nothing to"
                " compare"
            )
        files = largest_first([*texts, *self.files_of(PARSE_DATA)])
        expected = min(rows, sum(file.rows for file in texts)) if texts else rows
        destinations = 1 + expected * BANDS // _ROWS_PER_DESTINATION
        dedup, most = replace(self.job, order=()), self.doubtful.most
        job = NearJob(dedup, nearness, destinations, self.scratch, expected, most)
        sampled = self.runner.exchange(
            partial(send_samples, self.slices.router),
            files,
            len(self.slices),
            "dedup: sample texts",
        )
        sent = sampled.send(
            partial(send_bands, job), by_number(self._stored()), destinations, "dedup: sketch"
        )
        links = sent.run(partial(link_near, job), numbered(destinations), "dedup: near duplicates")
        sketched: list[SketchTaskResult] = list(sent.results())
        counted = [each.counters for each in sketched] + [each.counters for each in links]
        self.report.counters += sum([*sampled.results(), *counted], Counters())
        linked = [result.file for result in links if result.file is not None]
        if nearness.measure is Measure.HAMMING:
            self.files += linked
            for result in links:
                self.doubtful.add_pairs(result.doubtful)
        elif linked:
            self._stars(job, linked, sum(result.edges for result in links), sketched)

    def _stars(
        self, near: NearJob, linked: list[str], edges: int, sketched: list[SketchTaskResult]
    ) -> None:
        """Of what sketches connect, pages and those that are near them."""
        order = tuple(name for name in self.job.order if name not in EVIDENCE)
        destinations = 1 + edges // _PAGES_PER_DESTINATION
        job = replace(near, dedup=replace(self.job, order=order), destinations=destinations)
        step = "dedup: verify near duplicates"
        tasks = [
            (base.number, StarTask(base, result.files))
            for base, result in zip(self._stored(), sketched, strict=True)
        ]
        sent = self._connected(linked).send(
            partial(send_star_members, job), tasks, destinations, step
        )
        for result in sent.run(partial(find_stars, job), numbered(destinations), step):
            self._take(result.file, result.counters)
            self.doubtful.add_pairs(result.doubtful)

    def by_canonical(self, *, over_redirects: bool) -> None:
        """Pages and what they name as canonical, or where that redirects to."""
        also = REDIRECTING if over_redirects else ()
        say = partial(send_canonicals, self.slices.router)
        self._by_evidence(CANONICAL, also, say, self.files_of(PARSE_DATA), "dedup: canonical URLs")

    def by_redirects(self, config: Config) -> None:
        """Records and where they redirect to: pages as well as those that only lead on."""
        normalizers = NormalizerChain.from_config(config, Scope.FETCHER)
        job = RedirectsJob(self.slices.router, normalizers, RedirectRules.of(config).max_length)
        files = [*self.files_of(CONTENT), *self.files_of(PARSE_DATA)]
        say = partial(send_redirects, job)
        self._by_evidence(REDIRECT, REDIRECTING, say, files, "dedup: redirects")

    def _by_evidence(
        self,
        line: str,
        also: tuple[Status, ...],
        say: Callable[[PartFile, Outbox], Counters],
        files: list[PartFile],
        step: str,
    ) -> None:
        """Records and what files say that they name."""
        dedup = replace(self.job, order=())
        job = EvidenceJob(dedup, self.slices.router, self.scratch, line, also)
        claims = self.runner.exchange(say, largest_first(files), len(self.slices), step)
        sent = claims.send(
            partial(send_namings, job), by_number(self._stored()), len(self.slices), step
        )
        matches = sent.run(partial(find_named, job), by_number(self._stored()), step)
        self.report.counters += sum(claims.results(), Counters())
        for results in (sent.results(), matches):
            for base, result in zip(self._stored(), results, strict=True):
                self._take(result.edges, result.counters)
                if result.named is not None:
                    self.evidence.setdefault(base.number, {})[line] = result.named
        # what was named and is in no slice
        unknown = self.report.counters[job.name] - sum(result.known_count for result in matches)
        if unknown:
            self.report.counters[f"{job.name}_unknown"] += unknown

    def clusters(self) -> Exchange[Any]:
        """Tells every slice which of its records are of which cluster."""
        return self._connected(self.files)

    def _connected(self, files: list[str]) -> Exchange[Any]:
        """The same of records that the edges of some files connect."""
        destinations = self.job.destinations
        job = ComponentsJob(self.scratch, destinations)
        every = numbered(destinations)
        edges: Exchange[Any] = self.runner.exchange(
            partial(send_edges, job), files, destinations, "dedup: clusters"
        )
        before: Any = None
        for _ in range(_MAX_ROUNDS if files else 0):
            edges = edges.send(partial(large_star, job), every, destinations, "dedup: clusters")
            edges = edges.send(partial(small_star, job), every, destinations, "dedup: clusters")
            now = sum(edges.results()) % (1 << 64)
            self.report.counters["cluster_rounds"] += 1
            if now == before:
                break
            before = now
        return edges.send(partial(send_clusters, job), every, len(self.slices), "dedup: clusters")

    def _take(self, file: str | None, counters: Mapping[str, int]) -> None:
        self.report.counters.update(counters)
        if file is not None:
            self.files.append(file)

    def _stored(self) -> list[Any]:
        return largest_first(self.slices.stored())

    def files_of(self, part: str) -> list[PartFile]:
        """The files of a part of all segments; the later of two segments has the greater
        number."""
        part_files: list[PartFile] = []
        for number, segment in enumerate(self.crawl_dir.segments.generated()):
            manifest = segment.manifest(part)
            folder = segment.part_folder(part)
            files = manifest.files if manifest is not None else ()
            part_files += [
                PartFile(part, folder, file.path, file.rows, number) for file in files if file.rows
            ]
        return part_files
