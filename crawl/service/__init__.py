"""The realtime lane: a URL in, its page known, within seconds, by the engine of the batch crawl."""
