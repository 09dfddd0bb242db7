from __future__ import annotations

from tests.cli.plan_page import PAGE, commands, printed


def test_the_page_shows_what_the_command_prints() -> None:
    """If not: python -m tests.cli.plan_page, and read its text again."""
    found = commands(PAGE.read_text())
    assert len(found) >= 4
    for line, expected in found:
        assert printed(line) == expected, line
