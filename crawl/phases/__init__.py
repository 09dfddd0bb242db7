"""One file a phase: what is asked of every bucket, and the one publication at the end.

A phase is handed a Runner and knows neither Spark nor the command line: `crawl.spark`
runs its functions on executors, a test runs them in its own process.
"""
