from __future__ import annotations

import pyarrow as pa
import pytest

from crawl.model.table import Column, Table
from crawl.model.tables import CRAWL_GENERATE, CRAWLDB


def test_the_crawldb_as_spark_sees_it() -> None:
    assert CRAWLDB.spark_ddl == (
        "url STRING NOT NULL, host STRING NOT NULL, status TINYINT NOT NULL,"
        " fetch_time TIMESTAMP NOT NULL, modified_time TIMESTAMP,"
        " fetch_interval INT NOT NULL, retries SMALLINT NOT NULL, score FLOAT NOT NULL,"
        " signature BINARY, metadata MAP<STRING, STRING> NOT NULL"
    )


@pytest.mark.parametrize("table", [CRAWLDB, CRAWL_GENERATE], ids=lambda table: table.name)
def test_schema_and_ddl_say_the_same_of_each_column(table: Table) -> None:
    arrow = {
        pa.string(): "STRING",
        pa.int8(): "TINYINT",
        pa.int16(): "SMALLINT",
        pa.int32(): "INT",
        pa.float32(): "FLOAT",
        pa.binary(): "BINARY",
        pa.timestamp("ms", tz="UTC"): "TIMESTAMP",
        pa.map_(pa.string(), pa.string()): "MAP<STRING, STRING>",
    }
    ddl = table.spark_ddl.replace("MAP<STRING, STRING>", "MAP<STRING; STRING>").split(", ")
    assert table.names == table.schema.names
    assert len(ddl) == len(table.columns)
    for line, field, column in zip(ddl, table.schema, table.columns, strict=True):
        name, _, rest = line.replace(";", ",").partition(" ")
        assert name == field.name == column.name
        assert rest.removesuffix(" NOT NULL") == arrow[field.type]
        assert rest.endswith(" NOT NULL") == (not field.nullable) == column.required
        assert column.about


def test_every_type_of_a_column_can_be_rendered() -> None:
    types: list[pa.DataType] = [pa.int64(), pa.float64(), pa.bool_()]
    table = Table("t", tuple(Column(f"c{i}", each, "") for i, each in enumerate(types)))
    assert table.spark_ddl == "c0 BIGINT NOT NULL, c1 DOUBLE NOT NULL, c2 BOOLEAN NOT NULL"
