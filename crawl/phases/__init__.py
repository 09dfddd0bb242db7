"""A folder a phase: `run.py` asks the tasks of every bucket and ends in one publication; `tasks`
work on files with Arrow; `rules.py` decides, and is pure.

A phase is handed a Runner and knows neither Spark nor the command line: `crawl.spark` runs its
tasks on executors, a test runs them in its own process. It knows another phase only where it goes
on with what that one has made: setup.cfg names these pairs.
"""
