"""Webs that are made up: an honest one that grows from a seed number, and a wicked one whose
servers do harm. `crawl demo` and `crawl testweb` serve them; so do the tests."""
