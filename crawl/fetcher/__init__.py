"""Fetching without Spark. Its parts, each needing only those below it:

task.py      one task: fetches a part of a fetch list, from its file to files
reporting/   how far a task is, and its figures
output/      records on their way to disk: journal, chunks, inline parsing
drivers/     who runs the engine: threads, virtual time, one page at a time
engine/      what to ask next and what an answer means, without threads
frontier/    the servers' queues, their pauses and their robots.txt
values/      what the parts hand to each other: items, records, outcomes, settings
"""
