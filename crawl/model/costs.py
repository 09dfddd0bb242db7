"""EngineCosts: what a phase cost the engine that ran it, as its report tells it.

A figure that nobody counted is None, never zero: a report of an older version, or an engine that
could not be asked, must not look like work that was free.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class EngineCosts:
    """Jobs, tasks and bytes. Tasks that run in the process of the phase are no jobs of an engine,
    and what they return does not travel."""

    jobs: int | None = 0
    stages: int | None = 0
    tasks: int | None = 0
    retried_tasks: int | None = 0
    """Attempts that failed or were killed, and tasks that were done again because what they had
    made was lost."""
    bytes_read: int | None = 0
    """From the crawl's folders, by all tasks and by the driver."""
    bytes_written: int | None = 0
    requests: int | None = 0
    """How often the file system was asked: about as often as an object store is."""
    bytes_exchanged: int | None = 0
    """What tasks wrote for tasks of the next stage: the engine's shuffle."""
    task_bytes: int | None = 0
    """The tasks that the driver sent out."""
    result_bytes: int | None = 0
    """What tasks returned to the driver."""
    largest_result_bytes: int | None = 0
    """The most that the tasks of one job returned."""
    result_limit_bytes: int | None = 0
    """The most that they may return (spark.driver.maxResultSize); 0 where nothing limits it."""

    @property
    def driver_bytes(self) -> int | None:
        """All that passes the driver."""
        return _sum(self.task_bytes, self.result_bytes)

    @property
    def is_near_result_limit(self) -> bool:
        """Whether a job returned more than half of what a job may return."""
        return 2 * (self.largest_result_bytes or 0) > (self.result_limit_bytes or 0) > 0

    def __add__(self, other: EngineCosts) -> EngineCosts:
        """Both together."""
        return EngineCosts(
            **{
                each.name: (_most if each.name in _LARGEST else _sum)(
                    getattr(self, each.name), getattr(other, each.name)
                )
                for each in fields(self)
            }
        )

    def as_dict(self) -> dict[str, int | None]:
        return {**asdict(self), "driver_bytes": self.driver_bytes}

    @classmethod
    def of_dict(cls, content: object) -> EngineCosts:
        """What a report says; a figure that is missing or is no count is not known."""
        figures: dict[Any, Any] = content if isinstance(content, dict) else {}
        return cls(**{each.name: _count(figures.get(each.name)) for each in fields(cls)})


_LARGEST = frozenset({"largest_result_bytes", "result_limit_bytes"})


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _sum(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
