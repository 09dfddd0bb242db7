"""dust: learns from the crawl which parts of a host's URLs make no difference.

Pass by pass: first every part alone; then the rules that were found are judged together, and
with them gone further parts are looked at. Rules that go wrong together are dropped but for
the strongest, which was right alone; what is returned has been judged as it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from crawl.clock import Clock
from crawl.driver.rule_files import read_learnt, rewrite_learnt
from crawl.phases.dust.rules import DustBounds, RuleEvidence, strongest
from crawl.phases.dust.tasks.task import DustJob, DustTask, send_rows, weigh_bucket, weigh_received
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of, number_of
from crawl.storage.manifest import Snapshot
from crawl.storage.output_file import check_output_file
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner
from crawl.tables.slices import Slices
from crawl.urls.dust import VALUES, DustKind, DustRule, HostDust
from crawl.urls.dust_lines import dust_lines, read_dust_line
from crawl.urls.rule_lines import RuleLine

COMMAND = "dust"

_MAX_PASSES = 4
"""That look for rules; each brings what the rules before it had hidden."""

Rules = dict[str, list[RuleEvidence]]
"""The rules of each host, with what speaks for them."""
_RuleKey = tuple[str, DustKind, str]
_LearntRule = tuple[str, DustRule, str]
"""The host, the rule, and what spoke for it."""


@dataclass(frozen=True, slots=True)
class DustResult:
    """What was learnt."""

    pages: int
    """Pages whose content is known."""
    rules: list[RuleEvidence]
    """By host."""
    doubtful: list[RuleEvidence] = field(default_factory=list)
    """Rules that have enough support, but too many exceptions or too few values."""


def check_file(address: str) -> None:
    """Raises what keeps rules from being written to a file: UsageError where those in it are
    somebody's own, ConfigError where they are not as they were written, and StorageError where
    nothing can be written."""
    _learnt(read_learnt(address, COMMAND))
    check_output_file(address)


def _learnt(lines: Iterable[RuleLine]) -> dict[_RuleKey, _LearntRule]:
    """The rules of a file that was written earlier."""
    rules = map(read_dust_line, lines)
    return {(host, rule.kind, rule.name): (host, rule, about) for host, rule, about in rules}


def write_rules(address: str, result: DustResult, clock: Clock) -> int:
    """Writes the rules to a file, beside those that it has already; returns how many they are.

    Once rules are applied, a crawl no longer meets what they take away, so that it says nothing
    of them any more: they stay, unless exceptions have turned up."""
    rules: dict[_RuleKey, _LearntRule] = {}

    def merge(lines: list[RuleLine]) -> Iterable[str]:
        rules.update(_learnt(lines))
        for each in result.doubtful:
            if each.exceptions:
                rules.pop((each.host, each.rule.kind, each.rule.name), None)
        for each in result.rules:
            host, rule = each.host, each.rule
            for name in VALUES.get(rule.kind, ()):
                rules.pop((host, rule.kind, name), None)
            rules[(host, rule.kind, rule.name)] = host, rule, as_remark(each)
        return dust_lines(rules.values())

    about = [
        "Rules of the urlnormalizer dust (urlnormalizer.dust.file): a host, what is taken away,",
        "its name, and what spoke for it.",
    ]
    rewrite_learnt(address, COMMAND, about, merge, clock)
    return len(rules)


def as_remark(evidence: RuleEvidence) -> str:
    """What speaks for a rule, in a few words."""
    return (
        f"{evidence.contents:,} contents with {evidence.values:,} values;"
        f" {evidence.exceptions:,} of {evidence.urls:,} URLs against it"
    )


def run(
    runner: Runner,
    crawl_dir: CrawlDir,
    snapshot: Snapshot,
    bounds: DustBounds,
    hosts: Iterable[str] = (),
) -> DustResult:
    """Learns the rules of all hosts, or of some."""
    return _Learning(runner, crawl_dir, snapshot, bounds, frozenset(hosts)).run()


@dataclass(frozen=True)
class _Learning:
    runner: Runner
    crawl_dir: CrawlDir
    snapshot: Snapshot
    bounds: DustBounds
    hosts: frozenset[str]
    judged: Rules = field(default_factory=dict)
    """Rules that were found right together."""
    settled: set[str] = field(default_factory=set)
    """Hosts of which no more is looked for."""

    def run(self) -> DustResult:
        rules: Rules = {}
        singles: Rules = {}
        doubtful: list[RuleEvidence] = []
        pages = 0
        for number in range(_MAX_PASSES + 1):
            search = number < _MAX_PASSES
            page_count, evidence, joint = self._pass(rules, search=search)
            pages = pages or page_count
            for host in sorted(rules):
                urls, exceptions = joint.get(number_of(host), (0, 0))
                if self.bounds.tolerates(urls, exceptions):
                    self.judged[host] = rules[host]
                else:
                    self.settled.add(host)
                    self.judged.setdefault(host, [strongest(singles[host])])
            new_rules: Rules = {}
            for each in evidence:
                if self.hosts and each.host not in self.hosts:
                    continue
                if self.bounds.holds(each):
                    if each.host not in self.settled:
                        new_rules.setdefault(each.host, []).append(each)
                elif number == 0 and each.contents >= self.bounds.min_support:
                    doubtful.append(each)
            if number == 0:
                singles = new_rules
            rules = {host: [*self.judged.get(host, []), *new] for host, new in new_rules.items()}
            if not rules:
                break
        ordered = [each for host in sorted(self.judged) for each in self.judged[host]]
        return DustResult(pages, ordered, sorted(doubtful, key=lambda each: (each.host, each.rule)))

    def _pass(
        self, rules: Rules, *, search: bool
    ) -> tuple[int, list[RuleEvidence], dict[int, tuple[int, int]]]:
        job = DustJob(self.crawl_dir.crawldb.folder, search)
        slices = Slices.of(self.snapshot, self.snapshot.buckets)
        dust_by_bucket: dict[int, dict[str, HostDust]] = {}
        for host, evidence_of_host in rules.items():
            dust = HostDust.of(each.rule for each in evidence_of_host)
            dust_by_bucket.setdefault(bucket_of(host, self.snapshot.buckets), {})[host] = dust
        bucket_numbers = dust_by_bucket.keys() if rules else self._wanted_buckets()
        tasks = [
            DustTask(each, dust_by_bucket.get(each.bucket, {}))
            for each in largest_first(slices.stored())
            if each.bucket in bucket_numbers
        ]
        whole = [task for task in tasks if task.slice.is_whole]
        parts = [task for task in tasks if not task.slice.is_whole]
        results = self.runner.run(partial(weigh_bucket, job), whole, "dust: weigh")
        pages = sum(count for count, _ in results)
        weighed = [evidence for _, evidence in results]
        if parts:
            sent = self.runner.exchange(
                partial(send_rows, job), parts, self.snapshot.buckets, "dust: send"
            )
            buckets = sorted({task.slice.bucket for task in parts})
            weighed += sent.run(
                weigh_received, [(bucket, bucket) for bucket in buckets], "dust: weigh"
            )
            pages += sum(sent.results())
        evidence = [each for bucket in weighed for each in bucket.rules]
        joint = {host: figures for bucket in weighed for host, figures in bucket.joint.items()}
        return pages, evidence, joint

    def _wanted_buckets(self) -> Iterable[int]:
        if self.hosts:
            return {bucket_of(host, self.snapshot.buckets) for host in self.hosts}
        return range(self.snapshot.buckets)
