"""`python -m crawl` is the command `crawl`."""

from crawl.cli.main import main

if __name__ == "__main__":
    main()
