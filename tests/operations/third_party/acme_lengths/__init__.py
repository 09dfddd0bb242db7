"""Somebody else's package: one operation in one folder."""
