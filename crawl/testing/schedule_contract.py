"""What every fetch schedule must keep to; subclass it in your own tests:

class TestMine(FetchScheduleContract):
    plugin_class = MySchedule
"""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa

from crawl.interfaces.schedule import FetchSchedule, PageChange
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.testing.inputs.odd_datums import DAY_S, NOW, odd_datums
from crawl.testing.plugin_contract import PluginContract

URL = "http://example.com/"
_LONGEST_S = 2**31 - 1


class FetchScheduleContract(PluginContract[FetchSchedule]):
    """Tests for pytest; override `config` and `samples` to reach your plugin's own cases."""

    interface = "schedule"

    def samples(self) -> list[CrawlDatum]:
        """Records that matter to the plugin, beside the odd ones."""
        return []

    def datums(self) -> list[CrawlDatum]:
        return [*self.samples(), *odd_datums()]

    def test_it_builds_on_the_interface(self) -> None:
        """generate sees by the interface's method whether the plugin answers by column."""
        assert FetchSchedule in self.plugin_class.__mro__

    def test_a_new_url_is_due_at_once(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            fresh = plugin.initialize(URL, datum, NOW)
            assert fresh.retries == 0
            assert fresh.fetch_time <= NOW
            assert plugin.should_fetch(URL, fresh, NOW)
            assert storable(fresh)

    def test_the_column_of_new_urls_agrees_with_the_row(self) -> None:
        plugin = self.make()
        table = to_table((URL, "example.com", datum) for datum in self.datums())
        # as stored: a score has 32 bits
        expected = [plugin.initialize(URL, datum, NOW) for _, datum in to_records(table)]
        for form in (table, pa.concat_tables([table.slice(0, 3), table.slice(3)])):
            started = plugin.initialize_batch(form, NOW)
            if started is not None:
                assert started.schema.equals(table.schema)
                assert [datum for _, datum in to_records(started)] == expected
        none = plugin.initialize_batch(table.slice(0, 0), NOW)
        assert none is None or none.num_rows == 0

    def test_urgency_is_a_number_and_the_column_agrees(self) -> None:
        plugin = self.make()
        datums = [*self.datums(), *self.fetched()]
        table = to_table((URL, "example.com", datum) for datum in datums)
        chunked = pa.concat_tables([table.slice(0, 3), table.slice(3)])
        for now in (0, NOW, NOW + 400 * DAY_S * 1000):
            expected = [plugin.urgency(URL, datum, now) for datum in datums]
            assert all(math.isfinite(value) and value >= 0 for value in expected)
            for form in (table, chunked, table.drop_columns(["url", "signature"])):
                column = plugin.urgency_batch(form, now)
                if column is None:
                    assert type(plugin).urgency is FetchSchedule.urgency
                else:
                    assert column.null_count == 0
                    np.testing.assert_allclose(column.to_numpy(), expected, rtol=1e-6, atol=1e-9)
        none = plugin.urgency_batch(table.slice(0, 0), NOW)
        assert none is None or len(none) == 0

    def fetched(self) -> list[CrawlDatum]:
        """Records as the plugin leaves them after one fetch and after several."""
        plugin = self.make()
        records: list[CrawlDatum] = []
        datum = CrawlDatum(Status.DB_FETCHED, NOW)
        for visit, change in enumerate([*PageChange, *PageChange, PageChange.MODIFIED]):
            datum = _fetched(plugin, datum, NOW + visit * visit * DAY_S * 1000, change)
            records.append(datum)
        return records

    def test_the_column_agrees_with_the_row(self) -> None:
        plugin = self.make()
        datums = self.datums()
        table = to_table((URL, "example.com", datum) for datum in datums)
        chunked = pa.concat_tables([table.slice(0, 3), table.slice(3)])
        for now in (0, NOW, NOW + 1):
            expected = [plugin.should_fetch(URL, datum, now) for datum in datums]
            for form in (table, chunked, table.drop_columns(["url"])):
                answers = plugin.should_fetch_batch(form, now)
                if answers is not None:
                    assert answers.type == pa.bool_()
                    assert answers.to_pylist() == expected

    def test_the_column_of_slices_and_of_nothing(self) -> None:
        plugin = self.make()
        datums = self.datums()
        table = to_table((URL, "example.com", datum) for datum in datums)
        for start, length in ((0, 0), (1, 2), (len(datums), 0), (2, len(datums))):
            answers = plugin.should_fetch_batch(table.slice(start, length), NOW)
            if answers is not None:
                assert answers.to_pylist() == [
                    plugin.should_fetch(URL, datum, NOW) for datum in datums[start : start + length]
                ]

    def test_a_schedule_answers_by_column_always_or_never(self) -> None:
        """generate reads the URLs only where the method is not overridden."""
        if self.plugin_class.should_fetch_batch is not FetchSchedule.should_fetch_batch:
            table = to_table([(URL, "example.com", datum) for datum in self.datums()])
            assert self.make().should_fetch_batch(table, NOW) is not None

    def test_after_a_fetch_the_tries_start_anew_and_the_page_is_due_later(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            for change in PageChange:
                after = _fetched(plugin, datum, NOW, change)
                assert after.retries == 0
                assert after.fetch_time >= NOW
                assert storable(after)
                assert identity(after) == identity(datum)

    def test_after_a_fault_the_page_is_due_later(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            gone = plugin.after_gone(URL, datum, fetched=NOW)
            retried = plugin.after_retry(URL, datum, fetched=NOW)
            assert gone.fetch_time >= NOW
            assert retried.fetch_time > NOW
            assert retried.retries == datum.retries + 1
            for after in (gone, retried):
                assert storable(after)
                assert identity(after) == identity(datum)

    def test_the_last_fetch_is_in_the_past(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            if datum.status is Status.DB_UNFETCHED:
                assert plugin.last_fetch_time(datum) == 0
            else:
                assert plugin.last_fetch_time(datum) <= datum.fetch_time

    def test_a_forced_refetch_forgets_the_page(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            for asap in (False, True):
                after = plugin.force_refetch(URL, datum, NOW, asap=asap)
                assert after.status is Status.DB_UNFETCHED
                assert (after.retries, after.signature, after.modified_time) == (0, None, 0)
                assert storable(after)
                assert not asap or plugin.should_fetch(URL, after, NOW)

    def test_an_executor_builds_the_same_plugin_from_its_name(self) -> None:
        here, there = self.make(), self.make_on_executor()
        for datum in self.datums():
            assert there.initialize(URL, datum, NOW) == here.initialize(URL, datum, NOW)


def _fetched(
    plugin: FetchSchedule, datum: CrawlDatum, fetched: int, change: PageChange
) -> CrawlDatum:
    before = datum.modified_time
    return plugin.after_fetch(
        URL, datum, previous_modified=before, fetched=fetched, modified=before, change=change
    )


def storable(datum: CrawlDatum) -> bool:
    """Whether the CrawlDb's columns can hold the record."""
    return to_table([(URL, "example.com", datum)]).num_rows == 1 and (
        0 <= datum.fetch_interval <= _LONGEST_S
    )


def identity(datum: CrawlDatum) -> tuple[object, ...]:
    """What a schedule has no say in."""
    return datum.status, datum.score, datum.signature
