"""Duplicates in the CrawlDb, by the exchange.

A record's group is 128 bits: its signature, or the cluster that near duplicates and evidence
have put it into (`keys.py`). Each slice finds the best of every group among its own records
and sends that one alone, so that a signature of half the crawl is as many
rows as there are slices; whoever receives a group decides between them, and only changes of
status go back (`decide.py`). Clusters are edges between records, of exact duplicates, near ones
(`parsed_pages.py`, `subjects.py`, `shingles.py`, `sketches.py`, `pairs.py`, `near.py`, verified by
`stars.py`) and evidence (`evidence.py`), contracted to stars (`components.py`).
"""
