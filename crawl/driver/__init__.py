"""What the drivers of several phases share: their logs and costs, which segments they take in, and
what they say of empty results."""
