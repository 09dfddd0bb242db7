"""The Python API: a crawl with its methods (`crawl.py`), which are derived from the operations
(`methods.py`), the handle that runs them, and the tables of a crawl."""
