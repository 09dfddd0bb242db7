"""A crawl's tables as Spark tables: `spark.read.format("nutria").load("mycrawl")`.

    from crawl.spark.source import register

    register(spark)
    crawldb = spark.read.format("nutria").load("mycrawl")
    crawldb.where("status = 'db_gone'").count()
    fetched = spark.read.format("nutria").option("table", "fetch").load("mycrawl")
    fetched.where("segment = '20261115093000' AND url LIKE 'https://example.org/%'").show()

Options:

- `table`: crawldb (the default), hosts, generate, fetch, fetch_hosts, content, parse, parse_data
  or parse_text; the folders' names (crawl_fetch …) mean the same.
- `segment`: a segment's name. Without it the rows of all segments are read; the column
  `segment` tells which one a row is from.
- `snapshot`: the number of an older state of the CrawlDb (and of its hosts).
- `columns`: the columns to read, as in `url, status`. Spark tells a Python data source nothing of
  the columns that a query uses, so name them here (or by `.schema("url STRING, status STRING")`),
  above all where there are bodies or texts among the others.
- `where`: conditions that all must hold, as JSON: `[["status", "=", "db_gone"]]`; the operators
  are those of the Python API (`= != < <= > >= in is "is not" startswith`).

It is a Python data source, so that it reads wherever fsspec does, with or without a Hadoop
connector; each file is a partition. Conditions are applied where the files are read: of the
CrawlDb only the buckets that can hold a URL or a host that is asked for are opened, of the
segments only those that are asked for, and of the files only row groups whose statistics do not
rule every row out. `status` is the status's name here; `_bucket` and `_row` tell where a record
of the CrawlDb stands.

The conditions of a query, as those of `DataFrame.where`, are pushed down too where that is safe.
Spark 4.1 to 4.3 keep what one query has pushed for every other one of the same DataFrame, whose
rows are then missing: there `register` leaves it out, and only the option `where` is pushed down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark import __version__ as spark_version
from pyspark.sql import DataFrame, SparkSession

from crawl.errors import EnvironmentFault
from crawl.model.table import TIMESTAMP, Table
from crawl.spark.pushdown import condition_of
from crawl.spark.source_tables import SourceFile, SourceFiles, SourceOptions, open_files
from crawl.storage.scan import Condition, require_column, scan_file

try:
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
except ModuleNotFoundError as missing:
    raise EnvironmentFault(
        f"--expr and the format nutria need Spark 4 or later: this is {spark_version}, which has"
        " no Python data sources"
    ) from missing

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

FORMAT = "nutria"
_PROVIDER = "org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2"
_PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


class FilePartition(InputPartition):
    """One file of the table."""

    def __init__(self, file: SourceFile) -> None:
        self.file = file


class TableReader(DataSourceReader):
    """Reads the wanted columns of the rows of one table for which the conditions hold."""

    def __init__(
        self, files: SourceFiles, schema: pa.Schema, conditions: Iterable[Condition] = ()
    ) -> None:
        self._files = files
        self._schema = schema
        self._types = {column.name: column.type for column in files.table.columns}
        self._conditions = list(conditions)

    def partitions(self) -> Sequence[InputPartition]:
        return [FilePartition(file) for file in self._files.matching(self._conditions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, FilePartition):
            return  # Spark's own, where there is no file at all
        file = partition.file
        stored = [name for name in self._schema.names if name not in file.constants]
        # Arrow knows how many rows a table has by its columns
        read = stored or self._files.table.names[:1]
        conditions = [each for each in self._conditions if each[0] not in file.constants]
        for rows in scan_file(file.folder, file.path, read, conditions, file.first_row):
            yield from self._for_spark(rows, file.constants).to_batches()

    def _for_spark(self, rows: pa.Table, constants: dict[str, Any]) -> pa.Table:
        columns = [
            pa.repeat(pa.scalar(constants[field.name], field.type), rows.num_rows)
            if field.name in constants
            else rows[field.name].cast(field.type)
            for field in self._schema
        ]
        return pa.Table.from_arrays(columns, schema=self._schema).combine_chunks()


class PushdownReader(TableReader):
    """A reader that takes conditions from Spark."""

    def pushFilters(self, filters: list[Any]) -> Iterable[Any]:  # noqa: N802  Spark's name
        """Takes on the filters that it can apply as Spark would, and returns the others."""
        others = []
        for each in filters:
            condition = condition_of(each, self._types)
            if condition is None:
                others.append(each)
            else:
                self._conditions.append(condition)
        return others


class CrawlSource(DataSource):
    """The format `nutria`."""

    reader_class = TableReader

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return SourceOptions.of(self.options).selection.spark_ddl

    def reader(self, schema: StructType) -> TableReader:
        options = SourceOptions.of(self.options)
        files = open_files(options)
        columns = _arrow_schema(files.table, schema)
        return self.reader_class(files, columns, options.conditions)


class PushdownSource(CrawlSource):
    """The format `nutria` for a Spark that pushes conditions down rightly."""

    reader_class = PushdownReader


def _arrow_schema(table: Table, schema: StructType) -> pa.Schema:
    """The columns that Spark wants, by the types of the table."""
    types = {column.name: column.type for column in table.columns}
    fields = []
    for field in schema.fields:
        require_column(field.name, types, table.name)
        stored = types[field.name]
        # Spark's timestamps are in microseconds
        kind = pa.timestamp("us", tz="UTC") if stored == TIMESTAMP else stored
        fields.append(pa.field(field.name, kind, field.nullable))
    return pa.schema(fields)


def register(spark: SparkSession) -> None:
    """Makes the format known to a session."""
    if not _pushes_rightly(spark):
        spark.dataSource.register(CrawlSource)
        return
    spark.dataSource.register(PushdownSource)
    # Spark refuses a reader that takes conditions where this is not said
    spark.conf.set(_PUSHDOWN, "true")


def stored_rows(spark: SparkSession, address: str, table: str, snapshot: int) -> DataFrame:
    """The rows of a snapshot of a table."""
    register(spark)
    reader = spark.read.format(FORMAT).option("table", table).option("snapshot", snapshot)
    return reader.load(address)


def _pushes_rightly(spark: SparkSession) -> bool:
    """Whether Spark pushes conditions down, and keeps those of one query out of the others.

    Where it does not, the provider that all queries of a DataFrame share has a method by which
    one of them sets what is read.
    """
    jvm: Any = getattr(spark, "_jvm", None)
    if not hasattr(DataSourceReader, "pushFilters") or jvm is None:
        return False
    loader = jvm.Thread.currentThread().getContextClassLoader()
    methods = loader.loadClass(_PROVIDER).getMethods()
    return "setReadInfo" not in {method.getName() for method in methods}
