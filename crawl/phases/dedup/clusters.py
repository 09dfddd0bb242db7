"""The clusters of a dedup: edges by signature, by nearness and by evidence, each a step of its
own whose edges wait in files, and then the stars that they make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from crawl.config import Config
from crawl.errors import NothingToDo
from crawl.interfaces.chains import NormalizerChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.report import Report
from crawl.phases.dedup.rules import CANONICAL, EVIDENCE, REDIRECT, REDIRECTING, Measure, Nearness
from crawl.phases.dedup.tasks.components import (
    ComponentsJob,
    large_star,
    send_clusters,
    send_edges,
    small_star,
)
from crawl.phases.dedup.tasks.evidence import EvidenceJob, EvidenceTaskResult, send_canonicals
from crawl.phases.dedup.tasks.near import LinkTaskResult, NearJob, SketchTaskResult, link_near
from crawl.phases.dedup.tasks.parsed_pages import TextFile, TitleFile, send_samples
from crawl.phases.dedup.tasks.records import DedupJob
from crawl.phases.dedup.tasks.redirects import ParseFile, RedirectsJob, send_redirects
from crawl.phases.dedup.tasks.sketches import BANDS
from crawl.phases.dedup.tasks.stars import DoubtfulPairs, StarsJob, find_stars
from crawl.phases.dedup.tasks.tasks import (
    StarTask,
    find_slice_named,
    link_nodes,
    send_nodes,
    send_slice_bands,
    send_slice_namings,
    send_slice_star_members,
    send_slice_targets,
)
from crawl.rules.redirect import RedirectRules
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.segments import CONTENT, PARSE_DATA, PARSE_TEXT
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import Exchange
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
        tasks = [(number, number) for number in range(job.destinations)]
        for result in sent.run(partial(link_nodes, self.scratch), tasks, "dedup: link"):
            self._take(result.file, result.counters)

    def by_nearness(self, nearness: Nearness) -> None:
        """Near duplicates, of texts or of simhashes."""
        rows = sum(each.rows for each in self.slices.all)
        texts = self.text_files() if nearness.measure is Measure.JACCARD else []
        if nearness.measure is Measure.JACCARD and not texts:
            raise NothingToDo(
                f"{self.crawl_dir.address}: no segment has parsed texts: --near has nothing to"
                " compare"
            )
        files: list[TextFile | TitleFile] = [*texts, *self.title_files()]
        expected = min(rows, sum(file.rows for file in texts)) if texts else rows
        destinations = 1 + expected * BANDS // _ROWS_PER_DESTINATION
        job = NearJob(
            replace(self.job, order=()),
            nearness,
            destinations,
            self.scratch,
            expected,
            self.doubtful.most,
        )
        sampled = self.runner.exchange(
            partial(send_samples, self.slices.router),
            largest_first(files),
            len(self.slices),
            "dedup: sample texts",
        )
        sent = sampled.send(
            partial(send_slice_bands, job), self._addressed(), destinations, "dedup: sketch"
        )
        tasks = [(number, number) for number in range(destinations)]
        found: list[LinkTaskResult] = sent.run(
            partial(link_near, job), tasks, "dedup: near duplicates"
        )
        for counters in sampled.results():
            self.report.counters += counters
        sketched: list[SketchTaskResult] = list(sent.results())
        for done in (*(each.counters for each in sketched), *(each.counters for each in found)):
            self.report.counters += done
        linked = [result.file for result in found if result.file is not None]
        if nearness.measure is Measure.HAMMING:
            self.files += linked
            for result in found:
                self.doubtful.add_pairs(result.doubtful)
        elif linked:
            self._stars(nearness, linked, sum(result.edges for result in found), sketched)

    def _stars(
        self, nearness: Nearness, linked: list[str], edges: int, sketched: list[SketchTaskResult]
    ) -> None:
        """Of what sketches connect, pages and those that are near them."""
        order = tuple(name for name in self.job.order if name not in EVIDENCE)
        destinations = 1 + edges // _PAGES_PER_DESTINATION
        job = StarsJob(
            replace(self.job, order=order),
            nearness,
            self.scratch,
            destinations,
            self.doubtful.most,
        )
        step = "dedup: verify near duplicates"
        tasks = [
            (base.number, StarTask(base, result.files))
            for base, result in zip(self._stored(), sketched, strict=True)
        ]
        sent = self._connected(linked).send(
            partial(send_slice_star_members, job), tasks, destinations, step
        )
        numbers = [(number, number) for number in range(destinations)]
        for result in sent.run(partial(find_stars, job), numbers, step):
            self._take(result.file, result.counters)
            self.doubtful.add_pairs(result.doubtful)

    def by_canonical(self, *, over_redirects: bool) -> None:
        """Pages and what they name as canonical, or where that redirects to."""
        job = EvidenceJob(
            replace(self.job, order=()),
            self.slices.router,
            self.scratch,
            also=REDIRECTING if over_redirects else (),
        )
        said = self.runner.exchange(
            partial(send_canonicals, self.slices.router),
            largest_first(self._files(PARSE_DATA)),
            len(self.slices),
            "dedup: canonical URLs",
        )
        sent = said.send(
            partial(send_slice_namings, job),
            self._addressed(),
            len(self.slices),
            "dedup: canonical URLs",
        )
        found = sent.run(partial(find_slice_named, job), self._addressed(), "dedup: canonical URLs")
        for counters in sent.results():
            self.report.counters += counters
        self._count_unknown(job, found)
        for base, result in zip(self._stored(), found, strict=True):
            self._take(result.edges, result.counters)
            self._take_evidence(base.number, CANONICAL, result.named)

    def by_redirects(self, config: Config) -> None:
        """Records and where they redirect to: pages as well as those that only lead on."""
        reading = RedirectsJob(
            self.slices.router,
            NormalizerChain.from_config(config, Scope.FETCHER),
            RedirectRules.of(config).max_length,
        )
        job = EvidenceJob(
            replace(self.job, order=()),
            self.slices.router,
            self.scratch,
            name="redirects",
            also=REDIRECTING,
        )
        step = "dedup: redirects"
        pages = [ParseFile(file) for file in self._files(PARSE_DATA)]
        files: list[TextFile | ParseFile] = [*self._files(CONTENT), *pages]
        said = self.runner.exchange(
            partial(send_redirects, reading), largest_first(files), len(self.slices), step
        )
        sent = said.send(
            partial(send_slice_targets, job), self._addressed(), len(self.slices), step
        )
        found = sent.run(partial(find_slice_named, job), self._addressed(), step)
        for counters in said.results():
            self.report.counters += counters
        for base, result in zip(self._stored(), sent.results(), strict=True):
            self._take(None, result.counters)
            self._take_evidence(base.number, REDIRECT, result.named)
        self._count_unknown(job, found)
        for result in found:
            self._take(result.edges, result.counters)

    def _count_unknown(self, job: EvidenceJob, found: list[EvidenceTaskResult]) -> None:
        """Counts what was named and is in no slice."""
        unknown = self.report.counters[job.name] - sum(result.known for result in found)
        if unknown:
            self.report.counters[f"{job.name}_unknown"] += unknown

    def clusters(self) -> Exchange[Any]:
        """Tells every slice which of its records are of which cluster."""
        return self._connected(self.files)

    def _connected(self, files: list[str]) -> Exchange[Any]:
        """The same of records that the edges of some files connect."""
        destinations = self.job.destinations
        job = ComponentsJob(self.scratch, destinations)
        every = [(number, number) for number in range(destinations)]
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

    def _take_evidence(self, number: int, name: str, file: str | None) -> None:
        if file is not None:
            self.evidence.setdefault(number, {})[name] = file

    def _take(self, file: str | None, counters: Mapping[str, int]) -> None:
        self.report.counters.update(counters)
        if file is not None:
            self.files.append(file)

    def _stored(self) -> list[Any]:
        return largest_first(self.slices.stored())

    def _addressed(self) -> list[tuple[int, Any]]:
        return [(base.number, base) for base in self._stored()]

    def text_files(self) -> list[TextFile]:
        """The files of the texts of all segments."""
        return self._files(PARSE_TEXT)

    def title_files(self) -> list[TitleFile]:
        """Those of their titles."""
        return [TitleFile(file) for file in self._files(PARSE_DATA)]

    def _files(self, part: str) -> list[TextFile]:
        """The files of a part of all segments; the later of two segments has the greater
        number."""
        found: list[TextFile] = []
        for number, segment in enumerate(self.crawl_dir.segments.generated()):
            manifest = segment.manifest(part)
            folder = segment.part_folder(part)
            files = manifest.files if manifest is not None else ()
            found += [TextFile(folder, file.path, file.rows, number) for file in files if file.rows]
        return found
