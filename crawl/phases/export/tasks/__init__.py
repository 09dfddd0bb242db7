"""From a crawl to a dataset, in the order in which a page meets it:

selection.py   a shard chooses the newest parse of each page that may be exported (with keys.py and
               decide.py of crawl/phases/index/tasks), and what has changed since a snapshot
part_pages.py  the part where the parse lies reads the page's text and markup
record.py      the record: what the crawl knows of the page, licence hints, quality signals, chunks
formats/       records as JSON lines, Parquet, WET or Markdown files
part.py        a task: a part of a segment's parse becomes files
output.py      the folder that they are published in
"""
