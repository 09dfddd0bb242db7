"""Inputs that break plugins: odd records and pages, wicked bodies and URLs, HTML cases."""
