from __future__ import annotations

import re

import pytest

from crawl.config.load import load
from crawl.config.nutch_names import _FAMILIES, NUTCH_NAMES, nutch_replacement
from crawl.config.properties import CORE
from crawl.declared import declared_properties
from crawl.errors import ConfigError

KNOWN = {*CORE, *(declared.name for declared in declared_properties())}


def test_no_answer_sends_anybody_to_a_property_that_is_not_there() -> None:
    answers = [*NUTCH_NAMES.values(), *(answer for _, answer in _FAMILIES)]
    named = {name for answer in answers for name in re.findall(r"`([^`]+)`", answer)}
    assert len(named) > 20
    assert named <= KNOWN
    assert all("\n" not in answer and len(answer) < 300 for answer in answers)


def test_what_is_a_property_here_is_not_in_the_list() -> None:
    assert not KNOWN & NUTCH_NAMES.keys()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("plugin.includes", "`urlfilter.order`"),
        ("fetcher.threads.per.host", "use `fetcher.threads.per.queue`"),
        ("http.robot.rules.whitelist", "use `http.robot.rules.allowlist`"),
        ("mapreduce.job.reduces", "this runs on Spark"),
        ("solr.server.url", "`index.writers.file`"),
        ("selenium.driver", "no built-in protocol runs a browser"),
    ],
)
def test_the_answer_is_given_instead_of_the_nearest_spelling(name: str, expected: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load([f"{name}=1"], environ={}, extra=declared_properties)
    text = str(refused.value)
    assert text.startswith(f"{name!r} in -D is a property of Nutch's and not of this crawler: ")
    assert expected in text
    assert "did you mean" not in text


def test_a_typo_is_still_a_typo() -> None:
    assert nutch_replacement("fetcher.server.dealy") == ""
    assert load(["indexer.score.power=2"], environ={}, extra=declared_properties) is not None
