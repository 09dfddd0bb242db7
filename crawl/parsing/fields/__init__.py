"""Fields that a user wants of certain pages, by rules of a TOML file:

rule_file.py    the file, checked and read into rules
rules.py        which rules are for a page, and what a field is
page_tree.py    what a CSS selector or an XPath expression finds in a page
kinds.py        texts as numbers, dates …, and back
extraction.py   a page and its rules become values, with a reason for every one that is missing
stored.py       values as metadata of a parse
"""
