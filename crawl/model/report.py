"""Report: what a phase did, written as report.json beside each dataset it made."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import Any

from crawl.counters import Counters
from crawl.masking import masked_setting
from crawl.model.costs import EngineCosts

PER_HOST_OVERFLOW = "urls_skipped_per_host_overflow"
BELOW_TOP_N = "below_top_n"
"""What generate counts of due URLs that it leaves for later."""


@dataclass(slots=True)
class Report:
    """Counts, durations and settings of one run of a phase."""

    phase: str
    started_ms: int
    settings_digest: str
    options: dict[str, Any] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    samples: dict[str, list[str]] = field(default_factory=dict)
    """A few of the URLs or lines behind a reason, so that a count can be understood."""
    durations_s: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    """What only this phase has to say, such as a predicted makespan."""
    engine: EngineCosts | None = None
    """What the phase cost until its last step was done; None where nobody counted."""
    engine_steps: dict[str, EngineCosts] = field(default_factory=dict)
    """The same by step."""
    finished_ms: int = 0

    def __post_init__(self) -> None:
        self.options = _without_secrets(self.options)

    def add_samples(self, samples: dict[str, list[str]], most: int) -> None:
        """Takes in further samples, at most `most` for each reason."""
        for reason, texts in samples.items():
            present = self.samples.setdefault(reason, [])
            present.extend(texts[: most - len(present)])

    def as_dict(self) -> dict[str, Any]:
        content = {each.name: getattr(self, each.name) for each in fields(self)}
        content["counters"] = dict(sorted(self.counters.items()))
        content["engine"] = {} if self.engine is None else self.engine.as_dict()
        content["engine_steps"] = {
            step: costs.as_dict() for step, costs in self.engine_steps.items()
        }
        return content

    def as_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1, default=str) + "\n"


def _without_secrets(options: dict[str, Any]) -> dict[str, Any]:
    """A report is for everybody: what was given as a password or a token is not."""
    return {
        name: _without_secrets(value) if isinstance(value, dict) else masked_setting(name, value)
        for name, value in options.items()
    }
