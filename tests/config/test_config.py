from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from crawl.config import ChangedProperty, Config, file, integer, load
from crawl.config.properties import (
    DB_INJECTOR_UPDATE,
    FETCHER_SERVER_DELAY,
    GENERATE_MAX_COUNT,
    SCORING_FILTER_ORDER,
)
from crawl.errors import ConfigError

MAX = integer("urlfilter.length.max", 2048, "Longest URL accepted.", minimum=1)
RULES = file("urlfilter.test.file", "test-rules.txt", "Rules.")


def test_defaults() -> None:
    config = Config()
    assert config[FETCHER_SERVER_DELAY] == 5.0
    assert config[SCORING_FILTER_ORDER] == ("opic",)
    assert config[MAX] == 2048
    assert config.origin(MAX) == "default"
    assert config.changed() == ()


def test_of_takes_typed_values_and_files() -> None:
    config = Config.of({"urlfilter.length.max": 100}, files={"test-rules.txt": "+."})
    assert config[MAX] == 100
    assert config.origin(MAX) == "code"
    assert config.read(RULES) == "+."
    assert config.source(RULES) == "test-rules.txt"


def test_of_checks_the_cores_keys_at_once_and_a_plugins_when_asked() -> None:
    with pytest.raises(ConfigError, match=r"generate\.max\.count: expected an integer"):
        Config.of({"generate.max.count": "many"})
    config = Config.of({"urlfilter.length.max": 0})
    with pytest.raises(ConfigError, match=r"urlfilter\.length\.max: .*got 0 .from code"):
        config[MAX]


def test_nobody_changes_it() -> None:
    config = Config()
    with pytest.raises(FrozenInstanceError):
        config.settings = {}  # type: ignore[misc]


def test_with_values_is_a_copy() -> None:
    before = Config.of({"generate.max.count": 5}, files={"test-rules.txt": "+."})
    assert before[GENERATE_MAX_COUNT] == 5
    after = before.with_values({"generate.max.count": 6, "db.injector.update": True})
    assert (before[GENERATE_MAX_COUNT], after[GENERATE_MAX_COUNT]) == (5, 6)
    assert (before[DB_INJECTOR_UPDATE], after[DB_INJECTOR_UPDATE]) == (False, True)
    assert after.read(RULES) == "+."


def test_with_values_checks_what_load_learnt_of_plugins() -> None:
    config = load(["urlfilter.length.max=5"], extra=lambda: [MAX])
    with pytest.raises(ConfigError, match=r"urlfilter\.length\.max"):
        config.with_values({"urlfilter.length.max": 0})


def test_changed_names_what_differs_from_the_default() -> None:
    config = Config.of(
        {"fetcher.server.delay": "500ms", "generate.max.count": -1, "some.plugin": [1]}
    )
    assert config.changed() == (
        ChangedProperty("fetcher.server.delay", 0.5, "code"),
        ChangedProperty("some.plugin", [1], "code"),
    )


def test_spark_settings_are_text() -> None:
    config = Config.of({"spark.x": True, "spark.cores": 2, "spark.memory": "1g"})
    assert config.spark_settings() == {
        "spark.cores": "2",
        "spark.memory": "1g",
        "spark.x": "true",
    }


def test_digest_depends_on_what_is_set_and_not_on_where_or_how() -> None:
    spelt = [
        Config.of({"fetcher.server.delay": 0.5, "spark.cores": 2}),
        Config.of({"spark.cores": "2", "fetcher.server.delay": "500ms"}),
        load(["spark.cores=2", "fetcher.server.delay=0.5s", "generate.max.count=-1"]),
    ]
    assert len({config.digest() for config in spelt}) == 1
    assert spelt[0].digest() != Config().digest()


def test_digest_is_the_same_in_every_process_and_release() -> None:
    assert Config().digest() == "c13db0b327da"
    assert Config.of({"generate.max.count": 7}, {"a": "b"}).digest() == "3025d3e4bdba"


def test_digest_covers_rule_files() -> None:
    one, two = (Config.of(files={"test-rules.txt": rules}) for rules in ("+.", "-."))
    assert one.digest() != two.digest() != Config().digest()


def test_travels(tmp_path: Path) -> None:
    (tmp_path / "crawl-site.toml").write_text('"fetcher.server.delay" = "2min"\n')
    (tmp_path / "test-rules.txt").write_text("+site\n")
    left = load(["urlfilter.length.max=9", "spark.x=y"], tmp_path, extra=lambda: [MAX])
    assert left.read(RULES) == "+site\n"
    packed = pickle.dumps(left)
    (tmp_path / "test-rules.txt").write_text("changed since")
    arrived = pickle.loads(packed)
    assert arrived[FETCHER_SERVER_DELAY] == 120.0
    assert arrived[MAX] == 9
    assert arrived.origin(FETCHER_SERVER_DELAY) == str(tmp_path / "crawl-site.toml")
    assert arrived.origin(MAX) == "-D"
    assert arrived.read(RULES) == "+site\n"
    assert arrived.source(RULES) == str(tmp_path / "test-rules.txt")
    assert arrived.spark_settings() == {"spark.x": "y"}
    assert arrived.changed() == left.changed()
    assert arrived.digest() == left.digest()
