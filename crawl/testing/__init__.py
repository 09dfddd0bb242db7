"""Shipped for tests, ours and yours: contract suites for plugins, and their wicked inputs.

A plugin's own test subclasses the contract of its interface and inherits its tests.
"""
