"""mirrors: hosts that are copies of each other."""
