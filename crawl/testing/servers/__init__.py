"""A server for tests that is scripted byte by byte."""
