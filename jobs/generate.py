"""jobs/nutria.py generate, by its name of before, which goes with the next version."""

from crawl.cli.main import main_of_job

main_of_job(__file__)
