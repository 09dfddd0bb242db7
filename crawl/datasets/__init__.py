"""A crawl's tables for programs: lazily read, by column and condition, as Arrow or pandas."""
