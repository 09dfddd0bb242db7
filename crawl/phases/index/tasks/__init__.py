"""From a crawl to an index, in the order in which a page meets it:

keys.py       segments tell each shard of an index which fetches and parses they have of its URLs
decide.py     a shard chooses the newest, asks the CrawlDb and the table of decisions.py
assemble.py   where the text of the chosen parse lies, filters make a document of it
deliver.py    the document reaches its shard, and the writers what is new there
sent_notes.py what servers are sent is noted before, for the job after one that dies
ledger.py     what each writer has, so that nothing is written twice and nothing is forgotten
"""
