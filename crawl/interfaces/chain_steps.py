"""What a chain does to one URL, plugin by plugin: for people who ask why.

The chains themselves only say what came of it, and take a fault of a plugin for having no
opinion; here the fault is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crawl.interfaces.chains import FilterChain, NormalizerChain


@dataclass(frozen=True, slots=True)
class FilterStep:
    """One filter's word."""

    plugin: str
    reason: str | None = None
    """Why it rejects the URL; None where it accepts it."""
    fault: str = ""
    """What the plugin raised, in which case it has no say."""


@dataclass(frozen=True, slots=True)
class NormalizerStep:
    """One normalizer's word, in one of the rounds that the chain makes."""

    round: int
    """From 1."""
    plugin: str
    url: str | None
    """What it made of its predecessor's word; None where that is no URL."""
    changed: bool
    fault: str = ""
    """What the plugin raised, in which case it changes nothing."""


def filter_steps(chain: FilterChain, url: str) -> tuple[FilterStep, ...]:
    """Every filter that is asked, the last of them the one that rejects, if any does."""
    steps: list[FilterStep] = []
    for name, plugin in chain.build():
        try:
            step = FilterStep(name, plugin.rejection(url))
        except Exception as error:
            step = FilterStep(name, fault=_one_line(error))
        steps.append(step)
        if step.reason is not None:
            break
    return tuple(steps)


def normalizer_steps(chain: NormalizerChain, url: str, rounds: int) -> tuple[NormalizerStep, ...]:
    """Every normalizer that is asked, round by round until the URL no longer changes;
    `rounds` are as many as `urlnormalizer.loop.count` allows."""
    return tuple(_normalizer_steps(chain, url, rounds))


def _normalizer_steps(chain: NormalizerChain, url: str, rounds: int) -> Iterator[NormalizerStep]:
    for number in range(1, rounds + 1):
        before = url
        for name, plugin in chain.build():
            answer: str | None = url
            fault = ""
            try:
                answer = plugin.normalize(url, chain.scope)
                if answer is not None:
                    answer.encode()  # as the chain does: such a text could not be stored
            except Exception as error:
                answer, fault = url, _one_line(error)
            yield NormalizerStep(number, name, answer, answer != url, fault)
            if answer is None:
                return
            url = answer
        if url == before:
            return


def normal_form(url: str, steps: tuple[NormalizerStep, ...]) -> str | None:
    """What the steps come to; None where the text is no URL."""
    return steps[-1].url if steps else url


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
