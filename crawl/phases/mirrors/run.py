"""mirrors: hosts that are copies of each other, http and https of one host among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial

from crawl.clock import Clock
from crawl.driver.rule_files import read_learnt, rewrite_learnt
from crawl.errors import UsageError
from crawl.phases.mirrors.rules import (
    MirrorBounds,
    MirrorEvidence,
    host_rules,
    preference,
    scheme_rules,
)
from crawl.phases.mirrors.tasks import (
    Candidate,
    CandidateSites,
    MirrorJob,
    compare,
    find_candidates,
    sample_of,
    send_compared,
    send_pages,
    send_pairs,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import absolute
from crawl.storage.manifest import Snapshot
from crawl.storage.output_file import check_output_file
from crawl.tables.bucket_files import largest_first
from crawl.tables.exchange import numbered
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.urls.rule_lines import RuleLine

COMMAND = "mirrors"
_PAIRS_PER_SITE = 16
"""Candidates of a site that are compared, the likeliest first."""

Sites = dict[int, tuple[str, int]]
"""By number: what a site is called, and how many pages it has."""


@dataclass(frozen=True, slots=True)
class MirrorsResult:
    """What was found."""

    pages: int
    mirrors: list[MirrorEvidence]
    """Each site that another one stands for, and which; by the latter."""
    shared_pages: int = 0
    """Pages that too many sites have to say anything of them."""


def run(
    runner: Runner, crawl_dir: CrawlDir, snapshot: Snapshot, bounds: MirrorBounds
) -> MirrorsResult:
    """Finds the sites of a CrawlDb that are copies of each other."""
    slices = Slices.of(snapshot, snapshot.buckets)
    tasks = largest_first(slices.stored())
    count = max(1, len(slices))
    numbers = numbered(count)
    job = MirrorJob(crawl_dir.crawldb.folder, count, bounds.min_contents)
    sent = runner.exchange(partial(send_pages, job), tasks, count, "mirrors: pages")
    met = sent.send(partial(send_pairs, job), numbers, count, "mirrors: pairs")
    lists = met.run(partial(find_candidates, job), numbers, "mirrors: candidates")
    pages, shared = sum(sent.results()), sum(met.results())
    candidates = _likeliest([each for some in lists for each in some])
    if not candidates:
        return MirrorsResult(pages, [], shared)
    of_site = CandidateSites.of(candidates)
    rows = runner.exchange(
        partial(send_compared, job, of_site), tasks, count, "mirrors: candidates"
    )
    compared = rows.run(compare, numbers, "mirrors: compare")
    sites: Sites = {}
    for names in rows.results():
        for number, (name, here) in names.items():
            sites[number] = name, sites.get(number, (name, 0))[1] + here
    figures = {pair: tuple(rest) for some in compared for pair, *rest in some}
    evidence = list(_evidence(candidates, figures, sites))
    return MirrorsResult(pages, _best_of([each for each in evidence if bounds.holds(each)]), shared)


def _likeliest(candidates: list[Candidate]) -> list[Candidate]:
    """Of each site the candidates with the most contents."""
    selection: list[Candidate] = []
    counts = Counter[int]()
    for each in sorted(candidates, key=lambda each: (-each.contents, each.one, each.other)):
        if max(counts[each.one], counts[each.other]) < _PAIRS_PER_SITE:
            selection.append(each)
            counts.update((each.one, each.other))
    return selection


def _evidence(
    candidates: list[Candidate], figures: Mapping[int, tuple[int, ...]], sites: Sites
) -> Iterable[MirrorEvidence]:
    for pair, each in enumerate(candidates):
        common, agreeing, contents = figures.get(pair, (0, 0, 0))
        (name, pages), (mirror, mirror_pages) = sorted(
            (sites[each.one], sites[each.other]), key=lambda site: preference(*site)
        )
        yield MirrorEvidence(
            name, mirror, pages, mirror_pages, common, agreeing, contents, sample_of(each)
        )


def _best_of(evidence: list[MirrorEvidence]) -> list[MirrorEvidence]:
    """Of each site the one that stands for it: the most preferable that it was found to be a
    copy of, and that nothing else stands for if there is such a one."""
    by_mirror: dict[str, list[MirrorEvidence]] = {}
    for each in evidence:
        by_mirror.setdefault(each.mirror, []).append(each)

    def rank(each: MirrorEvidence) -> tuple[object, ...]:
        return each.site in by_mirror, *preference(each.site, each.site_pages)

    mirrors = [min(some, key=rank) for some in by_mirror.values()]
    return sorted(mirrors, key=lambda each: (each.site, each.mirror))


def check_files(*files: str) -> None:
    """Raises UsageError where rules would be written over somebody's own, and ConfigError where
    those of an earlier crawl are not as they were written, and StorageError where nothing can
    be written."""
    if len({absolute(address) for address in files}) < len(files):
        raise UsageError(f"{files[0]}: hosts and protocols need a file each")
    for address in files:
        _learnt(read_learnt(address, COMMAND))
        check_output_file(address)


def _learnt(lines: Iterable[RuleLine]) -> dict[str, str]:
    """The rules of an earlier crawl."""
    rules = {}
    for line in lines:
        host, _, value = line.text.partition(" ")
        if not value.strip():
            raise line.wrong("expected a host and what stands for it")
        rules[host] = value.strip()
    return rules


_RULE_FILES = {
    "hosts": (
        "Rules of the urlnormalizer host (urlnormalizer.hosts.file): a host, and which one",
        "stands for it.",
    ),
    "protocols": (
        "Rules of the urlnormalizer protocol (urlnormalizer.protocols.file): a host, and the",
        "scheme that is enough.",
    ),
}


def write_rules(kind: str, address: str, result: MirrorsResult, clock: Clock) -> int:
    """Writes rules of the urlnormalizer host or protocol; returns how many there are in the file
    now. Those of an earlier crawl stay: once they are applied, nothing is there to be compared."""
    rules = (host_rules if kind == "hosts" else scheme_rules)(result.mirrors)
    all_rules: dict[str, str] = {}

    def merge(lines: list[RuleLine]) -> Iterable[str]:
        all_rules.update({host: name for host, name in _learnt(lines).items() if name not in rules})
        all_rules.update(rules)
        return (f"{host} {all_rules[host]}" for host in sorted(all_rules))

    rewrite_learnt(address, COMMAND, _RULE_FILES[kind], merge, clock)
    return len(all_rules)
