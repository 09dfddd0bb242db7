"""URLs in normal form, step by step."""
