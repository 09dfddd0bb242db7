"""Every setting, and where its value came from."""
