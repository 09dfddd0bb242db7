"""The fetcher as a machine without threads: what to ask next, and what an answer means."""
