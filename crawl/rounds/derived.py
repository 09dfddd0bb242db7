"""The names of crawl/driver/derived.py, for commands that are no operations yet."""

from crawl.driver.derived import behind as behind
from crawl.driver.derived import behind_lines as behind_lines
from crawl.driver.derived import read_facts as read_facts
