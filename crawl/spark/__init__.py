"""All that knows Spark: the session and what it needs, tasks over executors, the CrawlDb
as a Spark table. Only here is pyspark imported."""
