from __future__ import annotations

import pytest

from crawl.config import Config
from crawl.parsing.settings import PARSER_SKIP_TRUNCATED
from crawl.service.finishing.parse_filters import with_parse_filters


def test_pages_that_were_cut_are_parsed_as_far_as_they_go() -> None:
    assert Config.of({})[PARSER_SKIP_TRUNCATED] is True
    assert with_parse_filters(Config.of({}))[PARSER_SKIP_TRUNCATED] is False


@pytest.mark.parametrize("is_skipped", [True, False])
def test_who_has_said_what_becomes_of_them_is_obeyed(is_skipped: bool) -> None:
    config = Config.of({PARSER_SKIP_TRUNCATED.name: is_skipped})
    assert with_parse_filters(config)[PARSER_SKIP_TRUNCATED] is is_skipped
