"""The version of what is installed."""

__version__ = "0.1.0"
