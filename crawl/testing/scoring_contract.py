"""What every scoring filter must keep to; subclass it in your own tests:

class TestMine(ScoringFilterContract):
    plugin_class = MyScoring
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from crawl.interfaces.scoring import Links, ScoringFilter
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse
from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.testing.inputs.odd_datums import NOW, odd_datums
from crawl.testing.inputs.odd_pages import odd_contents, odd_metadata, odd_parses, odd_targets
from crawl.testing.plugin_contract import PluginContract

URL = "http://example.com/"
_LINK_SCORES = (0.0, 0.5, 0.1, 3.25, 1e-20, 3e38, -1.0, 0.1)


class ScoringFilterContract(PluginContract[ScoringFilter]):
    """Tests for pytest; override `config`, `samples` and `keys` to reach your plugin's own
    cases."""

    interface = "scoring"

    def samples(self) -> list[CrawlDatum]:
        """Records that matter to the plugin, beside the odd ones."""
        return []

    def keys(self) -> Sequence[str]:
        """Metadata keys that the plugin reads: they will hold odd texts."""
        return []

    def datums(self) -> list[CrawlDatum]:
        odd = [
            CrawlDatum(Status.DB_FETCHED, NOW, score=1.0, metadata=metadata)
            for metadata in odd_metadata(self.keys())
        ]
        return [
            # stored scores have 32 bits
            replace(datum, score=float(np.float32(datum.score)))
            for datum in [*self.samples(), *odd, *odd_datums()]
        ]

    def inlinks(self) -> list[list[CrawlDatum]]:
        """Lists of links to one URL."""
        odd = [
            CrawlDatum(Status.LINKED, NOW, score=score, metadata=metadata)
            for score, metadata in zip(
                (*_LINK_SCORES, math.nan, math.inf, -math.inf, *_LINK_SCORES),
                odd_metadata(self.keys()),
                strict=False,
            )
        ]
        return [[], odd[:1], odd]

    def test_it_builds_on_the_interface(self) -> None:
        """The chain sees by the interface's methods which moments the plugin has a say in."""
        assert ScoringFilter in self.plugin_class.__mro__

    def test_a_url_that_enters_gets_a_finite_score_and_nothing_else(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            for after in (plugin.injected_score(URL, datum), plugin.initial_score(URL, datum)):
                _require_only_score_and_metadata(after, datum)

    def test_a_rank_is_a_number(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            rank = plugin.sort_value(URL, datum, 1.0)
            assert isinstance(rank, float)
            assert not math.isnan(rank)
            assert plugin.sort_value(URL, datum, 1.0) == rank

    def test_the_column_agrees_with_the_row(self) -> None:
        plugin = self.make()
        datums = self.datums()
        whole = _table(datums)
        values = np.resize(np.array([1.0, 0.5, 2.0], dtype=np.float32), len(datums))
        for start, length in ((0, len(datums)), (1, 3), (2, 0)):
            rows = slice(start, start + length)
            table = whole.slice(start, length)
            expected = np.array(
                [
                    plugin.sort_value(URL, datum, float(value))
                    for datum, value in zip(datums[rows], values[rows], strict=True)
                ],
                dtype=np.float64,
            )
            for form in (table, _chunked(table), table.drop_columns(["url"])):
                column = plugin.sort_values(form, pa.array(values[rows]))
                if column is not None:
                    assert len(column) == length
                    assert column.null_count == 0
                    with np.errstate(over="ignore"):
                        ranks = np.asarray(column.cast(pa.float32()).to_pylist(), np.float32)
                        np.testing.assert_allclose(ranks, expected.astype(np.float32), rtol=1e-5)

    def test_a_form_by_column_answers_always_or_never(self) -> None:
        """Callers read URLs, or go row by row, only where the method is not overridden."""
        table, plugin = _table(self.datums()), self.make()
        ones = np.ones(table.num_rows, dtype=np.float32)
        none = Links(np.zeros(0, np.int64), np.zeros(0, np.float32))
        answers = {
            "sort_values": plugin.sort_values(table, pa.array(ones)),
            "initial_scores": plugin.initial_scores(table, ones),
            "update_scores": plugin.update_scores(table, ones, none, NOW),
            "orphans": plugin.orphans(table, NOW),
        }
        for name, answer in answers.items():
            overridden = getattr(self.plugin_class, name) is not getattr(ScoringFilter, name)
            assert (answer is not None) == overridden, name

    def test_what_content_and_parse_keep_is_text(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            assert _is_text(plugin.before_parse(URL, datum))
        for content in odd_contents(self.keys()):
            for parse in odd_parses(self.keys()):
                after = plugin.after_parse(parse.url, content, parse)
                assert _is_text(after.metadata)
                assert replace(after, metadata={}) == replace(parse, metadata={})
                assert parse.metadata.items() <= {**after.metadata, **parse.metadata}.items()

    def test_links_get_finite_scores_in_their_order(self) -> None:
        plugin = self.make()
        targets = odd_targets()
        for content in odd_contents(self.keys())[:3]:
            for parse in odd_parses(self.keys()):
                for some, count in ((targets, 40), (targets[:1], 1), (targets, 0), ([], 9)):
                    result = plugin.distribute(parse, content, some, count)
                    rest = iter(some)
                    for url, datum in result:
                        before = next(record for link, record in rest if link == url)
                        assert abs(datum.score) <= np.finfo(np.float32).max
                        _require_only_score_and_metadata(datum, before)

    def test_an_update_changes_score_and_metadata_and_nothing_else(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            for old in (None, datum, replace(datum, score=0.5, metadata={})):
                for inlinks in self.inlinks():
                    after = plugin.update_score(URL, old, datum, inlinks, NOW)
                    assert abs(after.score) <= np.finfo(np.float32).max
                    _require_only_score_and_metadata(after, datum)

    def test_an_update_does_not_depend_on_the_order_of_links(self) -> None:
        plugin = self.make()
        for inlinks in self.inlinks():
            for datum in self.datums()[:5]:
                assert plugin.update_score(URL, datum, datum, inlinks, NOW) == plugin.update_score(
                    URL, datum, datum, inlinks[::-1], NOW
                )

    def test_links_may_be_combined_only_where_time_and_interval_do_not_matter(self) -> None:
        plugin = self.make()
        if not self.plugin_class.may_combine_links:
            return
        for inlinks in self.inlinks():
            others = [
                replace(link, fetch_time=NOW - 5, modified_time=7, fetch_interval=9, retries=3)
                for link in inlinks
            ]
            for datum in self.datums()[:5]:
                for old in (None, datum):
                    one, other = (
                        plugin.update_score(URL, old, datum, some, NOW)
                        for some in (inlinks, others)
                    )
                    assert one == other

    def test_the_updated_column_agrees_with_the_row(self) -> None:
        plugin = self.make()
        datums = self.datums()
        owner = np.array([(7 * n) % len(datums) for n in range(3 * len(datums))], np.int64)
        owner = owner[owner % 4 != 1]  # rows without links
        score = np.resize(np.array(_LINK_SCORES, np.float32), len(owner))
        table = _table(datums)
        scores = table["score"].to_numpy()
        for form in (table, _chunked(table)):
            updated = plugin.update_scores(form, scores, Links(owner, score), NOW)
            if updated is None:
                return
            assert updated.dtype == np.float32
            for row, datum in enumerate(datums):
                inlinks = [
                    CrawlDatum(Status.LINKED, NOW, score=float(each))
                    for each in sorted(score[owner == row], reverse=True)
                ]
                by_row = plugin.update_score(URL, datum, datum, inlinks, NOW)
                assert by_row.metadata == datum.metadata, "the column cannot change metadata"
                assert np.float32(by_row.score) == updated[row]

    def test_the_column_of_new_urls_agrees_with_the_row(self) -> None:
        plugin = self.make()
        table = _table(self.datums())
        started = plugin.initial_scores(table, table["score"].to_numpy())
        if started is not None:
            for datum, score in zip(self.datums(), started, strict=True):
                by_row = plugin.initial_score(URL, datum)
                assert by_row.metadata == datum.metadata, "the column cannot change metadata"
                assert np.float32(by_row.score) == score

    def test_of_a_forgotten_page_status_score_and_metadata_may_change(self) -> None:
        plugin = self.make()
        table = _table(self.datums())
        for now in (0, NOW, NOW * 2):
            asked = plugin.orphans(_chunked(table).drop_columns(["url", "signature"]), now)
            for row, datum in enumerate(self.datums()):
                after = plugin.orphaned_score(URL, datum, now)
                assert after.status.is_db
                _require_only_score_and_metadata(replace(after, status=datum.status), datum)
                assert asked is None or bool(asked[row]) == (after != datum)

    def test_a_boost_is_a_number(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            for parse in (*odd_parses(self.keys())[:3], Parse(URL)):
                boost = plugin.indexer_score(URL, datum, parse, 1.5)
                assert isinstance(boost, float)
                assert math.isfinite(boost)

    def test_an_executor_builds_the_same_plugin_from_its_name(self) -> None:
        here, there = self.make(), self.make_on_executor()
        for datum in self.datums():
            assert there.sort_value(URL, datum, 1.0) == here.sort_value(URL, datum, 1.0)


def _table(datums: list[CrawlDatum]) -> pa.Table:
    return to_table((URL, "example.com", datum) for datum in datums)


def _chunked(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table.slice(0, 2), table.slice(2)])


def _is_text(metadata: Mapping[str, str]) -> bool:
    return all(isinstance(text, str) for entry in metadata.items() for text in entry)


def _require_only_score_and_metadata(after: CrawlDatum, before: CrawlDatum) -> None:
    """That nothing else has changed, and that they can be stored."""
    assert math.isfinite(after.score)
    assert _is_text(after.metadata)
    assert replace(after, score=0.0, metadata={}) == replace(before, score=0.0, metadata={})
