"""What the parts of the fetcher hand to each other: items, outcomes, records, settings."""
