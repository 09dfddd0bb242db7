"""Which URLs the filters accept."""
