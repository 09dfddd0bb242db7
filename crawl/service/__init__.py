"""The realtime service: a URL in, its page known, within seconds."""
