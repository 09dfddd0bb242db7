"""Servers for tests: one that is scripted byte by byte, and a proxy that injects faults."""
