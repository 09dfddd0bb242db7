from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.plugins.urlexemption.ignoreexempt import IgnoreExemptURLExemption
from crawl.testing.urlexemption_contract import URLExemptionContract

FILE = "db-ignore-external-exemptions.txt"


def config(rules: str) -> Config:
    return Config.of({}, {FILE: rules})


class TestIgnoreExempt(URLExemptionContract):
    plugin_class = IgnoreExemptURLExemption

    def config(self) -> Config:
        return config("# styles\n-private\n+\\.css$\n")

    def samples(self) -> list[str]:
        return ["http://a.org/x.css", "http://a.org/private.css"]

    def test_the_first_rule_that_matches_the_target_decides(self) -> None:
        plugin = self.make()
        assert plugin.exempts("http://b.org/", "http://a.org/x.css")
        assert not plugin.exempts("http://b.org/", "http://a.org/private.css")
        assert not plugin.exempts("http://b.org/x.css", "http://a.org/x")
        assert not plugin.exempts("", "http://a.org/" + "x" * 5000 + ".css")


def test_a_bad_rule_is_reported_with_its_line() -> None:
    with pytest.raises(ConfigError, match=f"{FILE}:2: expected"):
        IgnoreExemptURLExemption(config("+x\nx\n"))
    with pytest.raises(ConfigError, match=f"{FILE}:1: .*regular expression"):
        IgnoreExemptURLExemption(config("+(\n"))


def test_the_packaged_file_exempts_nothing() -> None:
    assert not IgnoreExemptURLExemption(Config.of()).exempts("http://a.org/", "http://b.org/")
