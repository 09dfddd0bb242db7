"""What repeats in a crawl, as methods: dust and mirrors."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawl.facade.arguments import check_number, check_text, check_whole_number
from crawl.facade.readers import Readers

if TYPE_CHECKING:
    from crawl.rules.dust import RuleEvidence


class Duplicates(Readers):
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
        from crawl.phases import dust
        from crawl.phases.rule_files import read_learnt
        from crawl.rules.dust import DustBounds
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
                read_learnt(str(apply), dust.COMMAND)
            found = self._read(learn, snapshot)
            answer: dict[str, Any] = {
                "pages": found.pages,
                "rules": [_values(each) for each in found.rules],
                "doubtful": [_values(each) for each in found.doubtful],
            }
            if apply is not None:
                answer |= {"file": str(apply), "written": dust.write_rules(str(apply), found)}
        return answer


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
