from __future__ import annotations

from pathlib import Path

import pytest

from crawl.config import load
from crawl.errors import ConfigError
from crawl.service.intake.freshness import Freshness


def freshness(tmp_path: Path, text: str) -> Freshness:
    (tmp_path / "windows.txt").write_text(text)
    site = tmp_path / "crawl-site.toml"
    site.write_text('"service.fresh.file" = "windows.txt"\n"service.fresh.window" = "1h"\n')
    from crawl.declared import load_declared

    return Freshness.of(load_declared(conf=tmp_path))


def test_the_file_that_comes_along_has_no_windows() -> None:
    assert Freshness.of(load()) == Freshness(86_400.0, 300.0, {})


def test_the_nearest_line_counts(tmp_path: Path) -> None:
    windows = freshness(tmp_path, "# comment\n*.a.org 5min\nwww.a.org 0\nB.ORG 7d\n")
    assert windows.window_s("www.a.org") == 0
    assert windows.window_s("x.y.a.org") == 300
    assert windows.window_s("a.org") == 300
    assert windows.window_s("b.org") == 7 * 86_400
    assert windows.window_s("www.b.org") == 3600


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("a.org", "expected a host and a window, got 'a.org'"),
        ("a.org 5min more", "expected a host and a window"),
        ("a.org soon", "'soon' is no window such as 5min or 7d"),
        ("a.org -5", "'-5' is no window"),
        ("http://a.org/ 5min", "is not a host or"),
    ],
)
def test_a_line_that_is_no_rule_is_told_with_its_place(
    tmp_path: Path, line: str, problem: str
) -> None:
    with pytest.raises(ConfigError, match=rf"windows.txt:2: .*{problem}"):
        freshness(tmp_path, f"\n{line}\n")
