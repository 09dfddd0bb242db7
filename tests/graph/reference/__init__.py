"""Graphs in memory, and what is computed from a whole one in one process: what the steps of
`crawl/graph` over buckets are checked against, here and in benchmarks."""
