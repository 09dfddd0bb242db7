"""What repeats in a crawl, as methods: dust and mirrors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.clock import SystemClock
from crawl.facade.arguments import check_number, check_text, check_whole_number
from crawl.facade.readers import Readers

if TYPE_CHECKING:
    from crawl.phases.dust.rules import RuleEvidence
    from crawl.phases.mirrors.rules import MirrorEvidence


class Repeats(Readers):
    """Answers are plain values, ready for JSON."""

    def dust(
        self,
        *,
        hosts: Iterable[str] = (),
        min_support: int = 10,
        min_values: int = 3,
        max_exceptions: float = 0.01,
        apply: str | Path | None = None,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """Which parameters, index names, slashes and letter cases make no difference, by host,
        with what speaks for it. `apply` names a rule file of the urlnormalizer `dust` to write.

            >>> web.dust(min_support=5)["rules"]
            >>> web.dust(apply="dust-urlnormalizer.txt")["file"]
        """
        from crawl.phases.dust import run as dust
        from crawl.phases.dust.rules import DustBounds
        from crawl.storage.manifest import Snapshot

        def learn(state: Snapshot) -> dust.DustResult:
            with self._runner(rows=state.rows) as runner:
                return dust.run(runner, self._directory, state, bounds, wanted)

        with self._working():
            check_whole_number("min_support", min_support, least=2)
            check_whole_number("min_values", min_values, least=2)
            check_number("max_exceptions", max_exceptions)
            bounds = DustBounds(min_support, max_exceptions, min_values)
            dust.check(bounds)
            wanted = [host.lower() for host in _texts("hosts", hosts)]
            if apply is not None:
                dust.check_file(str(apply))
            found = self._read(learn, snapshot)
            answer: dict[str, Any] = {
                "pages": found.pages,
                "rules": [_values(each) for each in found.rules],
                "doubtful": [_values(each) for each in found.doubtful],
            }
            if apply is not None:
                written = dust.write_rules(str(apply), found, SystemClock())
                answer |= {"file": str(apply), "written": written}
        return answer

    def mirrors(
        self,
        *,
        min_contents: int = 10,
        min_agreement: float = 0.95,
        hosts_file: str | Path | None = None,
        protocols_file: str | Path | None = None,
        snapshot: int | None = None,
    ) -> dict[str, Any]:
        """Sites that are copies of others: with and without `www.`, http and https, whole copies
        on other hosts. The files, where named, get rules of the urlnormalizers `host` and
        `protocol`.

            >>> web.mirrors()["mirrors"]
            >>> web.mirrors(hosts_file="host-urlnormalizer.txt")["hosts"]
        """
        from crawl.phases.mirrors import run as mirrors
        from crawl.phases.mirrors.rules import MirrorBounds
        from crawl.storage.manifest import Snapshot

        def find(state: Snapshot) -> mirrors.MirrorsResult:
            with self._runner(rows=state.rows) as runner:
                return mirrors.run(runner, self._directory, state, bounds)

        with self._working():
            check_whole_number("min_contents", min_contents, least=2)
            check_number("min_agreement", min_agreement)
            bounds = MirrorBounds(min_contents, min_agreement)
            mirrors.check(bounds)
            hosts, protocols = (
                None if path is None else str(path) for path in (hosts_file, protocols_file)
            )
            mirrors.check_files(hosts, protocols)
            found = self._read(find, snapshot)
            answer: dict[str, Any] = {
                "pages": found.pages,
                "shared_pages": found.shared_pages,
                "mirrors": [_mirror_values(each) for each in found.mirrors],
            }
            if hosts is not None:
                answer["hosts"] = mirrors.write_host_rules(hosts, found, SystemClock())
            if protocols is not None:
                written = mirrors.write_scheme_rules(protocols, found, SystemClock())
                answer["protocols"] = written
        return answer


def _mirror_values(found: MirrorEvidence) -> dict[str, Any]:
    return {
        "mirror": found.mirror,
        "of": found.site,
        "kind": str(found.kind),
        "pages": found.mirror_pages,
        "of_pages": found.site_pages,
        "common": found.common,
        "agreeing": found.agreeing,
        "contents": found.contents,
        "sampled": found.sampled,
    }


def _values(found: RuleEvidence) -> dict[str, Any]:
    return {
        "host": found.host,
        "kind": str(found.rule.kind),
        "name": found.rule.name,
        "contents": found.contents,
        "values": found.values,
        "urls": found.urls,
        "exceptions": found.exceptions,
    }


def _texts(name: str, given: Iterable[str]) -> list[str]:
    texts = [given] if isinstance(given, str) else list(given)
    for each in texts:
        check_text(name, each)
    return texts
