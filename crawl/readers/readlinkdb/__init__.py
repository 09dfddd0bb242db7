"""The LinkDb: what links to a URL, and dumps of it."""
