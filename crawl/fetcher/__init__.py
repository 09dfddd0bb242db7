"""Fetching without Spark: host queues and politeness, who may be asked (addresses) and
where a host is (dns). The same code serves the fetch phase, the checkers and the tests.
"""
