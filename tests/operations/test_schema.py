"""Options as JSON Schema, and as the API's parameters."""

from __future__ import annotations

from crawl.api.crawl import Crawl
from crawl.operations.options import Face, fields_of
from crawl.operations.registry import operations_of
from crawl.operations.schema import schema_of


def test_the_help_of_a_negated_flag_is_told_of_the_value_that_it_means() -> None:
    (inject,) = operations_of("inject")
    fields = {field.name: field for field in fields_of(inject.options)}
    assert fields["filter"].flags == ("--no-filter",) and fields["filter"].is_negated
    assert not fields["update"].is_negated and not fields["files"].is_negated
    declared = schema_of(inject)["$defs"]["InjectOptions"]["properties"]
    assert declared["filter"]["description"].startswith("If it is false: Take seeds that")
    assert declared["update"]["description"] == fields["update"].help
    assert "`filter=False`: Take seeds that" in (Crawl.inject.__doc__ or "")


def test_an_option_may_be_needed_on_one_face_only() -> None:
    (inject,) = operations_of("inject")
    (files,) = [field for field in fields_of(inject.options) if field.name == "files"]
    assert files.is_required_on(Face.COMMAND_LINE)
    assert not files.is_required_on(Face.API) and not files.is_required
