"""dedup: records of the same page are marked, all but one."""
